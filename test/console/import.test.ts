// The console's page that imports a file, in a browser.
import { expect } from "bun:test";
import { gzipSync } from "node:zlib";
import type { Locator, Page } from "playwright-core";
import { contentOf, describe, test } from "../support/browser.ts";
import { signIn, useConsole, waitForHeading, waitForText, waitUntil } from "../support/console-session.ts";
import { eventually } from "../support/eventually.ts";
import { memoize } from "../support/memoize.ts";
import { mintToken, operatorPost } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

// A limit that makes an import take a minute, once its token has used up the burst.
const rowsMax = 100;
const slowly = { "rate-limit": `${rowsMax}/m` };
const session = useConsole(5, slowly);
const { open } = session;

const find = (id: bigint) => storedPlants(session.service.database).find((plant) => plant.id === id);

/** Opens the page, and forgets the file that an earlier test has chosen there. */
async function openImport(): Promise<Page> {
  const page = await open("/import");
  await waitForHeading(page, "Import");
  const another = page.getByRole("button", { name: "Choose another file" });
  if ((await another.count()) > 0) await another.click();
  return page;
}

async function choose(page: Page, name: string, content: string | Uint8Array): Promise<void> {
  const buffer = Buffer.from(content);
  const file = { name, mimeType: "application/octet-stream", buffer };
  await page.locator("input[type=file]").setInputFiles(file);
}

async function start(page: Page, name: string, content: string | Uint8Array): Promise<void> {
  await choose(page, name, content);
  await page.getByRole("button", { name: "Start import" }).click();
}

/** Returns how many rows were created, already stored, and refused. */
async function importFile(
  page: Page,
  name: string,
  content: string | Uint8Array,
  ended = "Done",
): Promise<string[]> {
  await start(page, name, content);
  await waitForHeading(page, `${ended}: ${name}`);
  return page.locator(".tally dd").allTextContents();
}

async function download(page: Page, button: string): Promise<string> {
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: button }).click();
  return (await contentOf(await waiting)).toString();
}

/** A token that has used up its burst, so that its import is running for as long as a test needs it to. */
async function makeSlowToken(service: TestService, name: string): Promise<string> {
  const { secret } = await mintToken(service, { name, scopes: ["operator", "plants:create"] });
  const headers = bearer(secret);
  await Promise.all(Array.from({ length: rowsMax }, () => post(service.url, "{}", headers)));
  return secret;
}

/** Signs out during an import, which is asked about. */
async function signOutAnyway(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
}

/** As many rows as the burst, with ids from this one on. */
function rowsFrom(firstId: number): string {
  const row = (_: unknown, index: number) => `{"id": ${firstId + index}, "name": "Row ${index}"}`;
  return Array.from({ length: rowsMax }, row).join("\n");
}

describe("importing a file", () => {
  describe("of lines of JSON", () => {
    const good = '{"id": 9007199254740995, "name": "From a file"}';
    const refused = ['{"name": "Rosa \u202eevil"}', "{not json", '{"name": "Nor here"}'];
    const lines = [good, refused[0], good, refused[1], '{"id": 61, "name": "Last"}', refused[2]];

    /** Imports them, and collects what the page shows of the refused rows and offers for download. */
    const importLines = memoize(async () => {
      const page = await openImport();
      await importFile(page, "lines.ndjson", lines.join("\n"));
      await page.locator("progress.some-refused").waitFor();
      const style = "getComputedStyle(document.querySelector('progress'))";
      const storedEnd = await page.evaluate<string>(`${style}.getPropertyValue("--stored-end")`);
      const groups = page.locator(".refusal-group");
      const summaries = await groups.locator("summary").allTextContents();
      const rowsAtFirst = await groups.locator("tbody tr").count();
      const missing = await openGroup(groups.nth(0), 2);
      const invalid = await openGroup(groups.nth(1), 1);
      const downloaded = await download(page, "Download refused rows");
      return { storedEnd, summaries, rowsAtFirst, missing, invalid, downloaded };
    });

    /** Opens the group of refused rows, and returns them once there are so many. */
    async function openGroup(group: Locator, count: number): Promise<string[]> {
      await group.locator("summary").click();
      const rows = group.locator("tbody tr");
      await rows.nth(count - 1).waitFor();
      return rows.allTextContents();
    }

    test("stores the rows that are valid", async () => {
      await importLines();
      expect(find(9007199254740995n)).toMatchObject({ name: "From a file" });
    });

    test("groups the refused rows by their reason", async () => {
      const { summaries, rowsAtFirst } = await importLines();
      expect(summaries).toEqual([
        '2 rows Field "id" is missing; expected an integer. error 40010',
        "1 row The row is not valid JSON: expected a name or }. error 40002",
      ]);
      expect(rowsAtFirst).toBe(0);
    });

    test("hatches the part of the bar that was refused", async () => {
      expect((await importLines()).storedEnd).toBe("50%");
    });

    test("lists the refused rows of one reason when it is opened", async () => {
      expect((await importLines()).missing).toEqual([
        '2{"name": "Rosa U+202Eevil"}',
        '6{"name": "Nor here"}',
      ]);
    });

    test("lists a refused row with its own message, which names the position", async () => {
      expect((await importLines()).invalid).toEqual([
        "4The row is not valid JSON: at column 2 of the row, expected a name or } but found n.{not json",
      ]);
    });

    test("offers the refused rows as they were", async () => {
      expect((await importLines()).downloaded).toBe(`${refused.join("\n")}\n`);
    });

    test("offers a report of every row", async () => {
      const page = await openImport();
      const rows = ['{"id": 71, "name": "New"}', '{"name": "No id"}', '{"id": 71, "name": "New"}', "{", ""];
      expect(await importFile(page, "reported.ndjson", rows.join("\n"))).toEqual(["1", "1", "2"]);
      const report = (await download(page, "Download report")).trim().split("\r\n");
      expect(report).toHaveLength(5);
      expect(report[1]).toBe("1,created,,");
      expect(report[2]).toStartWith('2,refused,40010,"Field ""id"" is missing');
    });
  });

  test("of a JSON array offers the refused elements as an array", async () => {
    const page = await openImport();
    const array = '[{"id": 81, "name": "One"},\n {"name":\n"No id"},\n {"name": "Nor here"}]';
    expect(await importFile(page, "plants.json", array)).toEqual(["1", "0", "2"]);
    expect(await download(page, "Download refused rows")).toBe(
      '[\n{"name":\n"No id"},\n{"name": "Nor here"}\n]\n',
    );
  });

  // What a spreadsheet saves.
  test("of compressed CSV offers the refused rows with their header", async () => {
    const page = await openImport();
    const sheet = gzipSync('\ufeffid;name;tag\r\n1191;"Árbol; viejo";indoor\r\nx;Elm;\r\n1192;Oak;\r\n');
    expect(await importFile(page, "sheet.csv.gz", sheet)).toEqual(["2", "0", "1"]);
    await waitForText(page, /^CSV separated by semicolons, gzip, \d+ bytes, 3 rows$/);
    expect(find(1191n)).toMatchObject({ name: "Árbol; viejo", tag: "indoor" });
    expect(await download(page, "Download refused rows")).toBe("id;name;tag\nx;Elm;\n");
  });

  test("is in the audit trail with what was counted", async () => {
    const page = await openImport();
    await importFile(page, "audited.csv", "id,name\n1195,Oak\n1196,Elm\n1197,Ash\nx,Yew\n");
    await page.getByRole("link", { name: "Audit" }).click();
    await waitForText(page, "3 created, 0 already stored, 1 refused");
  });

  describe("of CSV that is broken in its third row", () => {
    /** Imports the file, and collects what the page shows and offers. */
    const importBroken = memoize(async () => {
      const page = await openImport();
      const broken = 'id,name\n1301,Oak\nx,Elm\n1302,5" pot\n1303,Fern\n';
      const tally = await importFile(page, "broken.csv", broken, "Failed");
      const reason = await page.getByText("has a quote inside a field").textContent();
      const resumeButtons = await page.getByRole("button", { name: "Resume" }).count();
      return { tally, reason, resumeButtons, refused: await download(page, "Download refused rows") };
    });

    test("says why and where it failed", async () => {
      expect((await importBroken()).reason).toContain("The row that starts on line 4 has a quote");
    });

    test("stores the rows before it", async () => {
      expect((await importBroken()).tally).toEqual(["1", "0", "1"]);
      expect(find(1301n)?.name).toBe("Oak");
    });

    test("stores no row after it", async () => {
      await importBroken();
      expect(find(1303n)).toBeUndefined();
    });

    test("offers the refused rows before it", async () => {
      expect((await importBroken()).refused).toBe("id,name\nx,Elm\n");
    });

    test("cannot be resumed", async () => {
      expect((await importBroken()).resumeButtons).toBe(0);
    });
  });

  test.each<[how: string, end: (page: Page, tokenId: string) => Promise<unknown>]>([
    ["the user signs out", signOutAnyway],
    ["the token is revoked", (_, id) => operatorPost(session.service, `/api/tokens/${id}/revoke`)],
  ])("ends when %s", async (how, end) => {
    const { token, secret } = await mintToken(session.service, {
      name: how,
      scopes: ["operator", "plants:create"],
    });
    const page = await open("/import", { token: secret });
    // Never answered, so that only the page itself can end it.
    await page.route("**/api/imports*", () => {});
    const sent = page.waitForRequest("**/api/imports*");
    const aborted = page.waitForEvent("requestfailed", (request) => request.url().includes("/api/imports"));
    await start(page, "endless.ndjson", '{"id": 1391, "name": "Oak"}');
    await sent;
    await page.getByRole("link", { name: "Plants" }).click();
    await end(page, token.id);
    await aborted;
  });

  test("without rows has a full bar", async () => {
    const page = await openImport();
    await importFile(page, "blank.ndjson", "\n");
    const storedEnd = 'getComputedStyle(document.querySelector("progress")).getPropertyValue("--stored-end")';
    expect(await page.evaluate<string>(storedEnd)).toBe("100%");
  });

  /** Leaves the page while an import runs and returns, asks to sign out and stays, stops it, and resumes it. */
  const interrupt = memoize(async () => {
    const page = await open("/import", { token: await makeSlowToken(session.service, "interrupts") });
    await start(page, "long.ndjson", rowsFrom(10_000));
    await page.getByRole("link", { name: "Tokens" }).click();
    await waitForHeading(page, "Tokens");
    const indicator = page.getByRole("link", { name: /^Importing \d+%$/ });
    await indicator.waitFor();
    const indicators = await indicator.count();
    await indicator.click();
    const heading = page.locator("#run-title");
    await heading.waitFor();
    const afterReturn = await heading.textContent();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Stay signed in" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const afterStaying = await heading.textContent();
    await page.getByRole("button", { name: "Stop" }).click();
    await waitForHeading(page, "Stopped: long.ndjson");
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    return { indicators, afterReturn, afterStaying, afterResuming: await heading.textContent() };
  });

  test("is shown on every page while it runs", async () => {
    const { indicators, afterReturn } = await interrupt();
    expect(indicators).toBe(1);
    expect(afterReturn).toBe("Importing: long.ndjson");
  });

  test("goes on if the user, asked about it, does not sign out", async () => {
    expect((await interrupt()).afterStaying).toBe("Importing: long.ndjson");
  });

  test("is resumed after it was stopped", async () => {
    expect((await interrupt()).afterResuming).toBe("Importing: long.ndjson");
  });

  test("is resumed in the next session after its token was revoked", async () => {
    const page = await open("/import", { token: await makeSlowToken(session.service, "revoked") });
    await start(page, "resumed.ndjson", rowsFrom(20_000));
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("button", { name: "Revoke revoked", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await waitForText(page, "This token has expired or was revoked");
    const scopes = ["operator", "plants:create"];
    const { secret } = await mintToken(session.service, { name: "next", scopes });
    await signIn(page, secret);
    await page.getByRole("link", { name: "Import", exact: true }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    await waitForHeading(page, "Done: resumed.ndjson");
    const tally = await page.locator(".tally dd").allTextContents();
    const [created = 0, replayed = 0, refused = 0] = tally.map((text) => Number(text.replaceAll(",", "")));
    expect(created + replayed).toBe(rowsMax);
    expect(refused).toBe(0);
    expect((await download(page, "Download report")).trim().split("\r\n")).toHaveLength(rowsMax + 1);
  });

  test("is resumed after signing out and in again", async () => {
    const page = await open("/import", { token: await makeSlowToken(session.service, "leaves") });
    await start(page, "left.ndjson", rowsFrom(40_000));
    await waitForHeading(page, "Importing: left.ndjson");
    await signOutAnyway(page);
    const scopes = ["operator", "plants:create"];
    const { secret } = await mintToken(session.service, { name: "returns", scopes });
    await signIn(page, secret);
    await page.getByRole("button", { name: "Resume" }).click();
    await waitForHeading(page, "Done: left.ndjson");
  });

  test("that has ended is forgotten when the user signs out, without a question", async () => {
    const page = await openImport();
    await importFile(page, "ended.ndjson", '{"id": 1491, "name": "Oak"}');
    await page.getByRole("button", { name: "Sign out" }).click();
    await signIn(page, session.secret);
    await page.locator(".drop").waitFor();
    expect(await page.getByText("ended.ndjson").count()).toBe(0);
  });

  test("does not hold up a service that stops", async () => {
    // A service of its own, with a drain timeout that could not end before the test does.
    await using service = await startTestService({ ...slowly, "drain-timeout": "10m" });
    const origin = service.operatorUrl;
    const token = await makeSlowToken(service, "importing");
    await post(service.url, '{"id":1,"name":"Fern"}');
    // A tab that polls must not hold it up either.
    const polling = await open("/plants", { origin, token });
    await polling.locator(".rows .row").first().waitFor();
    const importing = await open("/import", { origin, token, alone: true });
    await start(importing, "slow.ndjson", rowsFrom(2));
    await eventually(() => storedPlants(service.database).length > 1);
    await service.stop("test");
    expect(service.logged.join("")).not.toContain("drain timeout reached");
    await waitForText(importing, "The import waits, and continues by itself.");
    await importing.context().close();
  });
});

describe("a chosen file", () => {
  /** Opens the page, and collects what it sends about imports. */
  async function openAndWatch() {
    const page = await openImport();
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/api/imports")) sent.push(request.url());
    });
    return { page, sent };
  }

  const sheet = "id;name;tag\r\n2001;Fern;indoor\r\nx;Elm;\r\n2003;Oak \u202e;\r\n2004;Ash;\r\n";

  /** Chooses it, and collects what the page shows and sends before the import is started. */
  const chooseSheet = memoize(async () => {
    const { page, sent } = await openAndWatch();
    await choose(page, "sheet.csv", sheet);
    await page.getByRole("button", { name: "Start import" }).waitFor();
    const rows = page.locator(".preview tbody tr");
    await rows.nth(2).waitFor();
    const facts = await page.getByText(/ bytes, /).allTextContents();
    return { facts, rows: await rows.allTextContents(), sent: [...sent] };
  });

  test("is shown with its format, its size and its number of rows", async () => {
    expect((await chooseSheet()).facts).toEqual(["CSV separated by semicolons, 65 bytes, 4 rows"]);
  });

  test("is shown with its first three rows", async () => {
    expect((await chooseSheet()).rows).toEqual([
      "Line 22001Fernindoor",
      'Line 3Field "id" must be an integer, but is the string "x".',
      "Line 42003Oak U+202E",
    ]);
  });

  test("has its rows in two lines on a phone, the name above the id", async () => {
    const { page } = await openAndWatch();
    await page.setViewportSize({ width: 360, height: 740 });
    await choose(page, "sheet.csv", sheet);
    const row = page.locator(".preview tbody tr").first();
    const topOf = async (text: string) => (await row.getByText(text, { exact: true }).boundingBox())?.y ?? 0;
    expect(await topOf("2001")).toBeGreaterThan(await topOf("Fern"));
    // A tag is a little lower than the text on its line.
    expect(Math.abs((await topOf("indoor")) - (await topOf("Fern")))).toBeLessThan(4);
    expect(Math.abs((await topOf("Line 2")) - (await topOf("2001")))).toBeLessThan(4);
  });

  test("is not sent before the import is started", async () => {
    expect((await chooseSheet()).sent).toEqual([]);
  });

  describe("of which nothing can be read", () => {
    async function openAndChoose(): Promise<Page> {
      const page = await openImport();
      await choose(page, "no-ids.csv", "name,tag\nFern,indoor\n");
      return page;
    }

    test("says why it cannot be imported", async () => {
      const page = await openAndChoose();
      await waitForText(page, '"id" is missing');
      expect(await page.getByRole("button", { name: "Start import" }).count()).toBe(0);
    });

    test("leads to the choice of another one", async () => {
      const page = await openAndChoose();
      const other = page.getByRole("button", { name: "Choose another file" });
      await waitUntil(() => other.evaluate((button) => button.matches(":focus")));
      await other.click();
      await page.locator("input[type=file]").waitFor();
    });
  });

  describe("that is only checked", () => {
    const rows = ['{"id": 2101, "name": "Fern"}', '{"name": "No id"}', "{", '{"name": "Nor here"}'];

    /** Checks it, and collects what the page shows, offers and sends. */
    const checkFile = memoize(async () => {
      const { page, sent } = await openAndWatch();
      await choose(page, "checked.ndjson", rows.join("\n"));
      await page.getByRole("button", { name: "Check only" }).click();
      await waitForHeading(page, "Checked: checked.ndjson");
      const tally = await page.locator(".tally dd").allTextContents();
      const summaries = await page.locator(".refusal-group summary").allTextContents();
      return { tally, summaries, refused: await download(page, "Download refused rows"), sent: [...sent] };
    });

    test("has every row validated", async () => {
      const { tally, summaries } = await checkFile();
      expect(tally).toEqual(["1", "3"]);
      expect(summaries).toEqual([
        '2 rows Field "id" is missing; expected an integer. error 40010',
        "1 row The row is not valid JSON: expected a name or } but the row ends. error 40002",
      ]);
    });

    test("offers the rows that would be refused", async () => {
      expect((await checkFile()).refused).toBe(`${rows.slice(1).join("\n")}\n`);
    });

    test("is not sent", async () => {
      expect((await checkFile()).sent).toEqual([]);
      expect(find(2101n)).toBeUndefined();
    });
  });

  test("can be imported once it is checked, even after a look at another page", async () => {
    const { page } = await openAndWatch();
    await choose(page, "then.ndjson", '{"id": 2201, "name": "Fern"}');
    await page.getByRole("button", { name: "Check only" }).click();
    await waitForHeading(page, "Checked: then.ndjson");
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("link", { name: "Import", exact: true }).click();
    await waitForHeading(page, "Checked: then.ndjson");
    await page.getByRole("button", { name: "Start import" }).click();
    await waitForHeading(page, "Done: then.ndjson");
    expect(find(2201n)?.name).toBe("Fern");
  });

  test("that is broken says so once, before it is checked and after", async () => {
    const { page } = await openAndWatch();
    await choose(page, "stray.csv", 'id,name\n2401,Oak\n2402,5" pot\n');
    const notice = page.getByText("The row that starts on line 3 has a quote inside a field");
    await notice.waitFor();
    await page.getByRole("button", { name: "Check only" }).click();
    await waitForHeading(page, "Failed: stray.csv");
    expect(await page.locator(".tally dd").allTextContents()).toEqual(["1", "0"]);
    expect(await notice.count()).toBe(1);
  });

  test("is forgotten with its check when another is to be chosen", async () => {
    const { page } = await openAndWatch();
    await choose(page, "forgotten.ndjson", '{"id": 2301, "name": "Fern"}');
    await page.getByRole("button", { name: "Check only" }).click();
    await waitForHeading(page, "Checked: forgotten.ndjson");
    await page.getByRole("button", { name: "Choose another file" }).click();
    await page.locator("input[type=file]").waitFor();
    expect(await page.getByText("forgotten.ndjson").count()).toBe(0);
  });

  describe("takes nothing from a stopped import", () => {
    /** Stops an import, chooses a file and then another, checks a third one, and resumes the import. */
    const chooseOthers = memoize(async () => {
      const page = await open("/import", { token: await makeSlowToken(session.service, "halfway") });
      await start(page, "halfway.ndjson", `{"name": "No id"}\n${rowsFrom(50_000)}`);
      await page.getByText("1 row", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await waitForHeading(page, "Stopped: halfway.ndjson");
      const chooseAnother = page.getByRole("button", { name: "Choose another file" });
      await choose(page, "another.ndjson", '{"id": 2501, "name": "Fern"}');
      await chooseAnother.click();
      await waitForHeading(page, "Stopped: halfway.ndjson");
      await page.getByRole("button", { name: "Resume" }).waitFor();
      const refused = await download(page, "Download refused rows");
      await choose(page, "looked-at.ndjson", '{"id": 2601, "name": "Fern"}');
      await page.getByRole("button", { name: "Check only" }).click();
      await waitForHeading(page, "Checked: looked-at.ndjson");
      await chooseAnother.click();
      await waitForHeading(page, "Stopped: halfway.ndjson");
      await page.getByRole("button", { name: "Resume" }).click();
      await page.getByRole("button", { name: "Stop" }).waitFor();
      return { refused, resumed: await page.locator("#run-title").textContent() };
    });

    test("when another is to be chosen", async () => {
      expect((await chooseOthers()).refused).toBe('{"name": "No id"}\n');
    });

    test("when it is only checked", async () => {
      expect((await chooseOthers()).resumed).toBe("Importing: halfway.ndjson");
    });
  });
});
