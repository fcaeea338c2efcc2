// The console's page that imports a file, in a browser.
import { expect } from "bun:test";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { contentOf, describe, test } from "../support/browser.ts";
import { signIn, useConsole, waitForHeading, waitForText } from "../support/console-session.ts";
import { eventually } from "../support/eventually.ts";
import { lastAudited, mintToken } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { startTestService } from "../support/test-service.ts";

const session = useConsole(5);
const { open } = session;

const find = (id: bigint) => storedPlants(session.service.database).find((plant) => plant.id === id);

/** Opens the page, and collects what it sends about imports. */
async function openImport() {
  const page = await open("/import");
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/api/imports")) sent.push(request.url());
  });
  return { page, sent };
}

async function choose(page: Page, name: string, content: string | Uint8Array): Promise<void> {
  const file = { name, mimeType: "application/octet-stream", buffer: Buffer.from(content) };
  await page.locator("input[type=file]").setInputFiles(file);
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const follow = (page: Page, name: string) => page.getByRole("link", { name, exact: true }).click();
/** How many rows were created, already stored, and refused. */
const tallyOf = (page: Page) => page.locator(".tally dd").allTextContents();
const summariesOf = (page: Page) => page.locator(".refusal-group summary").allTextContents();

async function download(page: Page, button: string): Promise<string> {
  const waiting = page.waitForEvent("download");
  await press(page, button);
  return (await contentOf(await waiting)).toString();
}

describe("importing a file", () => {
  test("of lines stores those that are plants, and offers the others by their reason", async () => {
    const good = '{"id": 9007199254740995, "name": "From a file"}';
    const refused = ['{"name": "Rosa \u202eevil"}', "{not json", '{"name": "Nor here"}'];
    const { page, sent } = await openImport();
    await choose(page, "lines.ndjson", [good, refused[0], good, refused[1], "", refused[2]].join("\n"));
    await waitForHeading(page, "3 of the 5 rows would be refused, by reason");
    expect(sent).toEqual([]);
    await press(page, "Start import");
    await waitForHeading(page, "Done: lines.ndjson");
    await waitForText(page, /^NDJSON, \d+ bytes, 5 rows in \d+\.\d s\. Show the plants$/);
    expect(await tallyOf(page)).toEqual(["1", "1", "3"]);
    expect(find(9007199254740995n)).toMatchObject({ name: "From a file" });
    expect(await summariesOf(page)).toEqual([
      '2 rows Field "id" is missing; expected an integer. error 40010',
      "1 row The row is not valid JSON: expected a name or }. error 40002",
    ]);
    const rows = page.locator(".refusal-group tbody tr");
    for (const summary of await page.locator(".refusal-group summary").all()) await summary.click();
    await rows.nth(2).waitFor();
    expect(await rows.allTextContents()).toEqual([
      '2Field "id" is missing; expected an integer.{"name": "Rosa U+202Eevil"}',
      '6Field "id" is missing; expected an integer.{"name": "Nor here"}',
      "4The row is not valid JSON: at column 2 of the row, expected a name or } but found n.{not json",
    ]);
    expect(await download(page, "Download refused rows")).toBe(`${refused.join("\n")}\n`);
    await follow(page, "Show the plants");
    await waitForHeading(page, "Plants");
    await waitForText(page, "From a file");
    expect(new URL(page.url()).searchParams.get("token")).toBe("ops");
  });

  test("that a spreadsheet saved shows its first rows, and sends nothing before it is started", async () => {
    const sheet =
      '\ufeffid;name;tag\r\n1191;"Árbol; viejo";indoor\r\nx;Elm;\r\n1192;Oak \u202e;\r\n1193;Ash;\r\n';
    const { page, sent } = await openImport();
    await choose(page, "sheet.csv.gz", gzipSync(sheet));
    await waitForText(page, /^CSV separated by semicolons, gzip, \d+ bytes, 4 rows$/);
    expect(await page.locator(".preview tbody tr").allTextContents()).toEqual([
      "1191Árbol; viejoindoor",
      "1192Oak U+202E",
      "1193Ash",
    ]);
    await waitForHeading(page, "1 of the 4 rows would be refused, by reason");
    expect(sent).toEqual([]);
    await press(page, "Start import");
    await waitForHeading(page, "Done: sheet.csv.gz");
    expect(await tallyOf(page)).toEqual(["3", "0", "1"]);
    expect(find(1191n)).toMatchObject({ name: "Árbol; viejo", tag: "indoor" });
    expect(await download(page, "Download refused rows")).toBe("id;name;tag\nx;Elm;\n");
    const [end] = await lastAudited(session.service, 1);
    expect(end).toMatchObject({
      action: "import.finished",
      subject: "sheet.csv.gz",
      detail: "3 created, 0 already stored, 1 refused",
    });
  });

  test("does not hold up a service that stops", async () => {
    // A service of its own, with a drain timeout that could not end before the test does.
    await using service = await startTestService({ "rate-limit": "1/m", "drain-timeout": "10m" });
    const origin = service.operatorUrl;
    const { secret: token } = await mintToken(service, {
      name: "ops",
      scopes: ["operator", "plants:create"],
    });
    await post(service.url, '{"id":1,"name":"Fern"}');
    // A tab that polls must not hold it up either.
    const polling = await open("/plants", { origin, token });
    await polling.locator(".plants-table tbody tr").first().waitFor();
    const importing = await open("/import", { origin, token, alone: true });
    // The limit lets one of them pass.
    await choose(importing, "slow.ndjson", '{"id": 2, "name": "Oak"}\n{"id": 3, "name": "Elm"}');
    await press(importing, "Start import");
    await eventually(() => storedPlants(service.database).length > 1);
    await service.stop("test");
    expect(service.logged.join("")).not.toContain("drain timeout reached");
    await waitForText(importing, "The import waits, and continues by itself.");
    await importing.context().close();
  });
});

describe("an import that is running", () => {
  /** More than one request has, with ids from this one on; the first row is refused. */
  function rowsFrom(firstId: number): string {
    const rows = Array.from({ length: 1000 }, (_, row) => `{"id": ${firstId + row}, "name": "Row ${row}"}`);
    return ['{"name": "No id"}', ...rows].join("\n");
  }

  /** Starts one, whose last row waits for an answer. */
  async function startEndless(name: string, firstId: number) {
    const { secret } = await mintToken(session.service, { name, scopes: ["operator", "plants:create"] });
    const page = await open("/import", { token: secret });
    await page.route("**/api/imports", (route) => {
      // The others are answered.
      if (route.request().postData()?.split("\n").length !== 2) return route.continue();
    });
    await choose(page, name, rowsFrom(firstId));
    await press(page, "Start import");
    await page.locator(".tally").getByText("999").waitFor();
    return { page };
  }

  test("goes on while the user looks at other pages, and is stopped, continued, and ended by signing out", async () => {
    const { page } = await startEndless("long.ndjson", 10_000);
    await follow(page, "Tokens");
    await waitForHeading(page, "Tokens");
    await page.getByRole("link", { name: /^Importing \d+%$/ }).click();
    await waitForHeading(page, "Importing: long.ndjson");
    await press(page, "Stop");
    await waitForHeading(page, "Stopped: long.ndjson");
    await press(page, "Continue");
    await waitForHeading(page, "Importing: long.ndjson");
    const aborted = page.waitForEvent("requestfailed", (request) => request.url().includes("/api/imports"));
    await press(page, "Sign out");
    await aborted;
    await signIn(page, session.secret);
    await page.locator("input[type=file]").waitFor();
    expect(await page.getByText("long.ndjson").count()).toBe(0);
  });

  test("that fails says what was stored, and can be continued", async () => {
    const { page } = await startEndless("failing.ndjson", 20_000);
    await press(page, "Stop");
    await page.unrouteAll({ behavior: "ignoreErrors" });
    const error = { error: 40301, message: "The token lacks the scope plants:create." };
    await page.route("**/api/imports", (route) => route.fulfill({ status: 403, json: error }));
    await press(page, "Continue");
    await waitForHeading(page, "Failed: failing.ndjson");
    const stored = "999 rows of the file are stored, and stored once if you import it again.";
    await waitForText(page, `${error.message} ${stored}`);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await press(page, "Continue");
    await waitForHeading(page, "Done: failing.ndjson");
    expect(await tallyOf(page)).toEqual(["1,000", "0", "1"]);
    const ends = (await lastAudited(session.service, 3)).map(({ action }) => action);
    expect(ends).toEqual(["import.stopped", "import.failed", "import.finished"]);
  });
});
