import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { ApiError, type OperatorApi } from "../src/console/api.ts";
import { type FilePreview, readPreview } from "../src/console/import/file-preview.ts";
import { ImportRun } from "../src/console/import/import-run.ts";
import { catalogue } from "../src/http/error-catalogue.ts";
import type { LineOutcome } from "../src/operator/responses.ts";
import { readPlant } from "../src/plants/read-plant.ts";
import { idConflict, Refusal, type RefusalKind } from "../src/plants/refusals.ts";
import { contentOf, describe as describeInBrowser } from "./browser.ts";
import { makeToken, see, signIn, useConsole, waitUntil } from "./console-session.ts";
import { fake } from "./fake.ts";
import {
  bearer,
  eventually,
  operatorPost,
  post,
  startTestService,
  storedPlants,
  type TestService,
} from "./harness.ts";

// A limit that makes an import take a minute, once its token has used up the burst.
const rowsMax = 300;
const slowly = { "rate-limit": `${rowsMax}/m` };
const session = useConsole(5, slowly);
const { open } = session;

const find = (id: bigint) => storedPlants(session.running.database).find((plant) => plant.id === id);

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
  await page.getByRole("heading", { name: `${ended}: ${name}` }).waitFor();
  return page.locator(".tally dd").allTextContents();
}

async function download(page: Page, button: string): Promise<string> {
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: button }).click();
  return (await contentOf(await waiting)).toString();
}

/** A token that has used up its burst, so that its import is running for as long as a test needs it to. */
async function makeSlowToken(running: TestService, name: string): Promise<string> {
  const token = await makeToken(running, name, ["operator", "plants:create"]);
  const headers = bearer(token);
  await Promise.all(Array.from({ length: rowsMax }, () => post(running.url, "{}", headers)));
  return token;
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

describeInBrowser("importing a file", () => {
  describe("of lines of JSON", () => {
    const good = '{"id": 9007199254740995, "name": "From a file"}';
    const lines = [good, '{"name": "Rosa \u202eevil"}', good, "{not json", '{"id": 61, "name": "Last"}'];

    test("groups the refused rows by their reason, and lists those of one when it is opened", async () => {
      const page = await open("/import");
      await importFile(page, "listed.ndjson", [...lines, '{"name": "Nor here"}'].join("\n"));
      const groups = page.locator(".refusal-group");
      expect(await groups.locator("summary").allTextContents()).toEqual([
        '2 rows Field "id" is missing; expected an integer. error 40010',
        "1 row The row is not valid JSON: expected a name or }. error 40002",
      ]);
      expect(await groups.locator("tbody tr").count()).toBe(0);
      await groups.first().locator("summary").click();
      await groups.first().locator("tbody tr").nth(1).waitFor();
      expect(await groups.locator("tbody tr").allTextContents()).toEqual([
        '2{"name": "Rosa U+202Eevil"}',
        '6{"name": "Nor here"}',
      ]);
      await groups.nth(1).locator("summary").click();
      await groups.nth(1).locator("tbody tr").waitFor();
      // It has a message of its own, since it names the place in the row.
      expect(await groups.nth(1).locator("tbody tr").textContent()).toBe(
        "4The row is not valid JSON: at column 2 of the row, expected a name or } but found n.{not json",
      );
      expect(find(9007199254740995n)).toMatchObject({ name: "From a file" });
    });

    test("offers the refused rows as they were", async () => {
      const page = await open("/import");
      await importFile(page, "refused.ndjson", lines.join("\n"));
      expect(await download(page, "Download refused rows")).toBe(`${lines[1]}\n{not json\n`);
    });

    test("offers a report of every row", async () => {
      const page = await open("/import");
      const rows = ['{"id": 71, "name": "New"}', '{"name": "No id"}', '{"id": 71, "name": "New"}', "{", ""];
      expect(await importFile(page, "reported.ndjson", rows.join("\n"))).toEqual(["1", "1", "2"]);
      const report = (await download(page, "Download report")).trim().split("\r\n");
      expect(report).toHaveLength(5);
      expect(report[1]).toBe("1,created,,");
      expect(report[2]).toStartWith('2,refused,40010,"Field ""id"" is missing');
    });
  });

  test("of a JSON array offers the refused elements as an array", async () => {
    const page = await open("/import");
    const array = '[{"id": 81, "name": "One"},\n {"name":\n"No id"},\n {"name": "Nor here"}]';
    expect(await importFile(page, "plants.json", array)).toEqual(["1", "0", "2"]);
    expect(await download(page, "Download refused rows")).toBe(
      '[\n{"name":\n"No id"},\n{"name": "Nor here"}\n]\n',
    );
  });

  // What a spreadsheet saves.
  test("of compressed CSV offers the refused rows with their header", async () => {
    const page = await open("/import");
    const sheet = gzipSync('\ufeffid;name;tag\r\n1191;"Árbol; viejo";indoor\r\nx;Elm;\r\n1192;Oak;\r\n');
    expect(await importFile(page, "sheet.csv.gz", sheet)).toEqual(["2", "0", "1"]);
    await see(page, /^CSV separated by semicolons, gzip, \d+ bytes, 3 rows$/);
    expect(find(1191n)).toMatchObject({ name: "Árbol; viejo", tag: "indoor" });
    expect(await download(page, "Download refused rows")).toBe("id;name;tag\nx;Elm;\n");
  });

  test("is in the audit trail with what was counted", async () => {
    const page = await open("/import");
    await importFile(page, "audited.csv", "id,name\n1195,Oak\n1196,Elm\n1197,Ash\nx,Yew\n");
    await page.getByRole("link", { name: "Audit" }).click();
    await see(page, "3 created, 0 already stored, 1 refused");
  });

  test("that can never be imported says why and where", async () => {
    const page = await open("/import");
    const broken = 'id,name\n1291,Oak\nx,Elm\n1292,5" pot\n1293,Fern\n';
    expect(await importFile(page, "broken.csv", broken, "Failed")).toEqual(["1", "0", "1"]);
    await see(page, "The row that starts on line 4 has a quote inside a field");
    expect(await page.getByRole("button", { name: "Resume" }).count()).toBe(0);
    expect(find(1291n)?.name).toBe("Oak");
    expect(find(1293n)).toBeUndefined();
    expect(await download(page, "Download refused rows")).toBe("id,name\nx,Elm\n");
  });

  test.each<[how: string, end: (page: Page, tokenId: string) => Promise<unknown>]>([
    ["the user signs out", signOutAnyway],
    ["the token is revoked", (_, id) => operatorPost(session.running, `/api/tokens/${id}/revoke`)],
  ])("ends when %s", async (how, end) => {
    const { token, secret } = await operatorPost(session.running, "/api/tokens", {
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

  test("is shown on every page while it runs, and can be stopped and resumed", async () => {
    const page = await open("/import", { token: await makeSlowToken(session.running, "stopped") });
    await start(page, "stopped.ndjson", rowsFrom(10_000));
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
    await page.getByRole("link", { name: /^Importing \d+%$/ }).click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("heading", { name: "Stopped: stopped.ndjson" }).waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("heading", { name: "Importing: stopped.ndjson" }).waitFor();
  });

  test("is resumed in the next session after its token was revoked", async () => {
    const page = await open("/import", { token: "" });
    await signIn(page, await makeSlowToken(session.running, "revoked"));
    await start(page, "resumed.ndjson", rowsFrom(20_000));
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("button", { name: "Revoke revoked", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await see(page, "This token has expired or was revoked");
    await signIn(page, await makeToken(session.running, "next", ["operator", "plants:create"]));
    await page.getByRole("link", { name: "Import", exact: true }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("heading", { name: "Done: resumed.ndjson" }).waitFor();
    const tally = await page.locator(".tally dd").allTextContents();
    const [created = 0, replayed = 0, refused = 0] = tally.map((text) => Number(text.replaceAll(",", "")));
    expect(created + replayed).toBe(rowsMax);
    expect(refused).toBe(0);
    expect((await download(page, "Download report")).trim().split("\r\n")).toHaveLength(rowsMax + 1);
  });

  test("goes on if the user, asked about it, does not sign out", async () => {
    const page = await open("/import", { token: await makeSlowToken(session.running, "stays") });
    await start(page, "stays.ndjson", rowsFrom(30_000));
    await page.getByRole("heading", { name: "Importing: stays.ndjson" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Stay signed in" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.getByRole("heading", { name: "Importing: stays.ndjson" }).count()).toBe(1);
  });

  test("is resumed after signing out and in again", async () => {
    const page = await open("/import", { token: "" });
    await signIn(page, await makeSlowToken(session.running, "leaves"));
    await start(page, "left.ndjson", rowsFrom(40_000));
    await page.getByRole("heading", { name: "Importing: left.ndjson" }).waitFor();
    await signOutAnyway(page);
    await signIn(page, await makeToken(session.running, "returns", ["operator", "plants:create"]));
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("heading", { name: "Done: left.ndjson" }).waitFor();
  });

  test("that has ended is forgotten when the user signs out, without a question", async () => {
    const page = await open("/import", { token: "" });
    await signIn(page, session.secret);
    await importFile(page, "ended.ndjson", '{"id": 1491, "name": "Oak"}');
    await page.getByRole("button", { name: "Sign out" }).click();
    await signIn(page, session.secret);
    await page.locator(".drop").waitFor();
    expect(await page.getByText("ended.ndjson").count()).toBe(0);
  });

  test("does not hold up a service that stops", async () => {
    // A service of its own, with a drain timeout that could not end before the test does.
    await using running = await startTestService({ ...slowly, "drain-timeout": "10m" });
    const origin = running.operatorUrl;
    const token = await makeSlowToken(running, "importing");
    await post(running.url, '{"id":1,"name":"Fern"}');
    // Nor does a tab that polls, nor one that shows a page.
    await open("/import", { origin, token });
    const polling = await open("/plants", { origin, token, alone: true });
    await polling.locator(".rows .row").first().waitFor();
    const importing = await open("/import", { origin, token, alone: true });
    await start(importing, "slow.ndjson", rowsFrom(2));
    await eventually(() => storedPlants(running.database).length > 1);
    await running.service.stop("test");
    expect(running.logged.join("")).not.toContain("drain timeout reached");
    await see(importing, "The import waits, and continues by itself.");
    await polling.context().close();
    await importing.context().close();
  });
});

describeInBrowser("a chosen file", () => {
  /** Opens the page, and collects what it sends about imports. */
  async function openAndWatch() {
    const page = await open("/import");
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/api/imports")) sent.push(request.url());
    });
    return { page, sent };
  }

  test("shows its format, its size, its number of rows and the first three before anything is sent", async () => {
    const { page, sent } = await openAndWatch();
    const sheet = "id;name;tag\r\n2001;Fern;indoor\r\nx;Elm;\r\n2003;Oak \u202e;\r\n2004;Ash;\r\n";
    await choose(page, "sheet.csv", sheet);
    await see(page, "CSV separated by semicolons, 65 bytes, 4 rows");
    expect(await page.locator(".preview tbody tr").allTextContents()).toEqual([
      "Line 22001Fernindoor",
      'Line 3Field "id" must be an integer, but is the string "x".',
      "Line 42003Oak U+202E",
    ]);
    expect(sent).toEqual([]);
  });

  test("of which nothing can be read says why, and cannot be imported", async () => {
    const { page } = await openAndWatch();
    await choose(page, "no-ids.csv", "name,tag\nFern,indoor\n");
    await see(page, '"id" is missing');
    expect(await page.getByRole("button", { name: "Start import" }).count()).toBe(0);
    const other = page.getByRole("button", { name: "Choose another file" });
    await waitUntil(() => other.evaluate((button) => button.matches(":focus")));
    await other.click();
    await page.locator("input[type=file]").waitFor();
  });

  test("that is only checked has every row validated and none sent", async () => {
    const { page, sent } = await openAndWatch();
    const rows = ['{"id": 2101, "name": "Fern"}', '{"name": "No id"}', "{", '{"name": "Nor here"}'];
    await choose(page, "checked.ndjson", rows.join("\n"));
    await page.getByRole("button", { name: "Check only" }).click();
    await page.getByRole("heading", { name: "Checked: checked.ndjson" }).waitFor();
    expect(await page.locator(".tally dd").allTextContents()).toEqual(["1", "3"]);
    expect(await page.locator(".refusal-group summary").allTextContents()).toEqual([
      '2 rows Field "id" is missing; expected an integer. error 40010',
      "1 row The row is not valid JSON: expected a name or } but the row ends. error 40002",
    ]);
    expect(await download(page, "Download refused rows")).toBe(`${rows.slice(1).join("\n")}\n`);
    expect(sent).toEqual([]);
    expect(find(2101n)).toBeUndefined();
  });

  test("can be imported once it is checked, also after a look at another page", async () => {
    const { page } = await openAndWatch();
    await choose(page, "then.ndjson", '{"id": 2201, "name": "Fern"}');
    await page.getByRole("button", { name: "Check only" }).click();
    await page.getByRole("heading", { name: "Checked: then.ndjson" }).waitFor();
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("link", { name: "Import", exact: true }).click();
    await page.getByRole("heading", { name: "Checked: then.ndjson" }).waitFor();
    await page.getByRole("button", { name: "Start import" }).click();
    await page.getByRole("heading", { name: "Done: then.ndjson" }).waitFor();
    expect(find(2201n)?.name).toBe("Fern");
  });

  test("that is broken says so once, before it is checked and after", async () => {
    const { page } = await openAndWatch();
    await choose(page, "stray.csv", 'id,name\n2401,Oak\n2402,5" pot\n');
    const notice = page.getByText("The row that starts on line 3 has a quote inside a field");
    await notice.waitFor();
    await page.getByRole("button", { name: "Check only" }).click();
    await page.getByRole("heading", { name: "Failed: stray.csv" }).waitFor();
    expect(await page.locator(".tally dd").allTextContents()).toEqual(["1", "0"]);
    expect(await notice.count()).toBe(1);
  });

  test("is forgotten with its check when another is to be chosen", async () => {
    const { page } = await openAndWatch();
    await choose(page, "forgotten.ndjson", '{"id": 2301, "name": "Fern"}');
    await page.getByRole("button", { name: "Check only" }).click();
    await page.getByRole("heading", { name: "Checked: forgotten.ndjson" }).waitFor();
    await page.getByRole("button", { name: "Choose another file" }).click();
    await page.locator("input[type=file]").waitFor();
    expect(await page.getByText("forgotten.ndjson").count()).toBe(0);
  });
});

describe("the preview of a file", () => {
  /** The last that was reported of it. */
  async function previewOf(name: string, content: string, countMsMax?: number): Promise<FilePreview> {
    const reported: FilePreview[] = [];
    const signal = new AbortController().signal;
    const onRead = (preview: FilePreview) => void reported.push(preview);
    await readPreview(new File([content], name), 1000, { signal, onRead }, countMsMax);
    const last = reported.at(-1);
    if (last === undefined) throw new Error("nothing was reported");
    return last;
  }
  const manyRows = `id,name\n${"1,a\n".repeat(50_000)}`;

  test("has the first three rows, and counts all", async () => {
    // No machine is too slow for this limit.
    const { source, firstRows, rowCount } = await previewOf("rows.csv", manyRows, 600_000);
    expect(source).toBe("CSV");
    expect(firstRows.map(({ line }) => line)).toEqual([2, 3, 4]);
    expect(rowCount).toBe(50_000);
  });

  test("has the first rows, but no number, if counting takes too long", async () => {
    const { firstRows, rowCount, error } = await previewOf("rows.csv", manyRows, 0);
    expect(firstRows).toHaveLength(3);
    expect(rowCount).toBeUndefined();
    expect(error).toBeUndefined();
  });

  test("has the rows before the one at which a file is broken, and says where that is", async () => {
    const { firstRows, rowCount, error } = await previewOf("rows.csv", 'id,name\n1,a\n2,5" pot\n');
    expect(firstRows).toHaveLength(1);
    expect(rowCount).toBeUndefined();
    expect(String(error)).toContain("The row that starts on line 3 has a quote inside a field");
  });

  test("of a file without rows says so", async () => {
    expect(await previewOf("rows.json", "[]")).toMatchObject({ source: "JSON", firstRows: [], rowCount: 0 });
  });

  test("is not reported once the file is no longer chosen", async () => {
    const onRead = (): void => expect.unreachable();
    await readPreview(new File([manyRows], "rows.csv"), 1000, { signal: AbortSignal.abort(), onRead });
  });
});

describe("a check", () => {
  async function check(name: string, content: string): Promise<ImportRun> {
    const run = new ImportRun(new File([content], name), undefined, 1000);
    await eventually(() => run.state !== "running");
    return run;
  }

  const refusals: [string, RefusalKind][] = [
    ['{"id":1', "not-json"],
    ['{"id":1,"name":"\\ud800"}', "not-text"],
    ["[]", "not-an-object"],
    ['{"id":1,"id":1,"name":"a"}', "name-repeated"],
    ['{"id":1}', "field-missing"],
    ['{"id":1,"name":2}', "wrong-type"],
    ['{"id":1.5,"name":"a"}', "not-int64"],
    ['{"id":1,"name":"\\u0000"}', "holds-nul"],
  ];
  test.each(refusals)("refuses %s with the error of the service", async (row, kind) => {
    const { report, state } = await check("rows.ndjson", `{"id":1,"name":"a"}\n${row}`);
    expect(state).toBe("done");
    expect(report.valid).toBe(1);
    expect(report.groups).toMatchObject([{ error: catalogue[kind].error, count: 1 }]);
  });

  test("of a row that could not be sent has no error number", async () => {
    const { report } = await check("rows.csv", "id,name\n1,a\n2\n");
    expect(report.valid).toBe(1);
    expect(report.groups).toMatchObject([{ error: undefined, count: 1 }]);
  });

  test("reports every row", async () => {
    const { report } = await check("rows.csv", "id,name\n1,a\n2\n");
    const text = await report.reportFile().blob.text();
    expect(text.split("\r\n")).toEqual([
      "line,result,error,message",
      "2,valid,,",
      '3,refused,,"The row has 1 field, but the header has 2."',
      "",
    ]);
  });

  test("ends where the file is broken", async () => {
    const run = await check("rows.csv", 'id,name\n1,a\n2,5" pot\n');
    expect(run.state).toBe("failed");
    expect(run.report.valid).toBe(1);
    expect(run.canResume).toBe(false);
  });

  test("that is running is not an import that someone should be asked about", () => {
    const run = new ImportRun(new File(["{}"], "rows.ndjson"), undefined, 1000);
    expect(run.state).toBe("running");
    expect(run.isImporting).toBe(false);
  });
});

/**
 * Imports a file with a service that does this with the lines of each request, and that at the end. Returns the run, the
 * requests, and what it reported at the end.
 */
async function importWith(
  name: string,
  content: string,
  service: (lines: string[]) => LineOutcome[],
  atEnd: () => void = () => {},
) {
  const sent: { readonly path: string; readonly lines: string[] }[] = [];
  const finished: unknown[] = [];
  const api = fake<OperatorApi>({
    async post<Answer>(path: string, body: unknown) {
      finished.push({ path, ...(body as object) });
      return atEnd() as Answer;
    },
    async json<Answer>(path: string, { body }: RequestInit = {}) {
      const lines = (await (body as Blob).text()).split("\n").slice(0, -1);
      sent.push({ path, lines });
      return { outcomes: service(lines) } as Answer;
    },
  });
  const run = new ImportRun(new File([content], name), api, 1000);
  await eventually(() => run.state !== "running");
  return { run, sent, finished };
}

const createAll = (lines: string[]) => lines.map((): LineOutcome => "created");

test("rows are sent in parts, and again what a temporary error or a short response left", async () => {
  // A row that is no plant counts like the others, but is not sent.
  const rows = Array.from({ length: 1500 }, (_, id) => (id === 1 ? "no name" : `${id},"two\nlines"`));
  let requests = 0;
  const { run, sent } = await importWith("rows.csv", `id,name\n${rows.join("\n")}`, (lines) => {
    requests++;
    if (requests === 2 || requests === 4) throw new ApiError("The service is shutting down.", 50303);
    return requests === 3 ? createAll(lines.slice(0, 400)) : createAll(lines);
  });
  expect(run.state).toBe("done");
  expect(run.report.created).toBe(1499);
  expect(run.report.refused).toBe(1);
  expect(run.share).toBe(1);
  // The first request has no rows: it only names the file.
  expect(sent.map(({ lines }) => lines.length)).toEqual([0, 999, 999, 599, 599, 500]);
});

test("the file is named once, for the audit trail, in a request that is not sent again with the rows", async () => {
  let requests = 0;
  const { sent } = await importWith("rows.csv", "id,name\n1,a\n", (lines) => {
    requests++;
    if (requests === 2) throw new ApiError("The service is shutting down.", 50303);
    return createAll(lines);
  });
  expect(sent).toEqual([
    { path: "/api/imports?file=rows.csv", lines: [] },
    { path: "/api/imports", lines: ['{"id":1,"name":"a"}'] },
    { path: "/api/imports", lines: ['{"id":1,"name":"a"}'] },
  ]);
});

test("a row that is no plant is not sent, but reported with its line", async () => {
  const { run, sent } = await importWith("rows.csv", 'id,name\n1,"two\nlines"\nno name\n', createAll);
  expect(sent.flatMap(({ lines }) => lines)).toHaveLength(1);
  expect(run.report.refused).toBe(1);
  expect(run.report.groups).toMatchObject([
    { error: undefined, listed: [{ position: 4, message: "The row has 1 field, but the header has 2." }] },
  ]);
});

describe("refused rows", () => {
  const refuseAll = (lines: string[]) => lines.map((line) => refusalOf(Buffer.from(line)));

  /** What the service responds to a line that is no plant. */
  function refusalOf(line: Uint8Array): LineOutcome {
    const refusal = readPlant(line);
    if (!(refusal instanceof Refusal)) throw new Error(`${line} is a plant`);
    const { kind, message, reason, position } = refusal;
    return { error: catalogue[kind].error, message, reason, position };
  }

  const long = "x".repeat(60);
  const emoji = "\u{1f33f}".repeat(60);
  test.each([
    ['Field "id" is missing; expected an integer.', ['{"name":"a"}', '{"name":"b"}']],
    [
      'Field "id" must be an integer, but is a string.',
      ['{"id":"a","name":"a"}', '{"id":"1. Field \\"x\\".","name":"a"}', `{"id":"${long}","name":"a"}`],
    ],
    [
      'Field "id" must be an integer, but is a string. Field "name" must be a string, but is a number.',
      [
        '{"id":"a","name":1}',
        '{"id":"a \\\\","name":2.5e-9}',
        `{"id":"${long}","name":${"7".repeat(60)}}`,
        `{"id":"${emoji}","name":3}`,
      ],
    ],
    ['Field "name" must be a string, but is a boolean.', ['{"id":1,"name":true}', '{"id":2,"name":false}']],
    [
      'Field "id" must be a whole number from -9223372036854775808 to 9223372036854775807. Field "name" is missing; expected a string.',
      ['{"id":1.5}', `{"id":${"9".repeat(60)}}`],
    ],
    ["The row must be a JSON object, but is a string.", ['"a"', '"b"']],
    ["The row must be a JSON object, but is null.", ["null", " null"]],
    [
      "A name appears more than once in the object.",
      ['{"id":1,"name":"a","x":1,"x":1}', '{"id":1,"name":"a","y":1,"y":1,"z":1,"z":1}'],
    ],
    ["The row is not valid JSON: expected a name or }.", ["{n", "{  é"]],
    [
      "The string contains an unpaired surrogate, which is not valid Unicode.",
      ['{"id":1,"name":"\\ud800"}', '{"id":12,"name":"\\udfff"}'],
    ],
  ])("whose values alone differ are one group: %s", async (reason, rows) => {
    const { run } = await importWith("rows.ndjson", rows.join("\n"), refuseAll);
    expect(run.report.groups).toMatchObject([{ reason, count: rows.length }]);
  });

  test("whose ids belong to other plants are one group for each difference", async () => {
    const conflicts = [idConflict(1n, ["name"]), idConflict(-2n, ["name", "tag"]), idConflict(3n, ["name"])];
    const { run } = await importWith("rows.csv", "id,name\n1,a\n-2,b\n3,c\n", (lines) =>
      conflicts.slice(0, lines.length).map(({ message, reason }) => ({ error: 40020, message, reason })),
    );
    expect(run.report.groups).toMatchObject([
      { reason: "The id already belongs to a plant with a different name.", count: 2 },
      { reason: "The id already belongs to a plant with a different name and a different tag.", count: 1 },
    ]);
  });

  test.each([
    ["The row does not have as many fields as the header.", "1\n1,a,b\n"],
    [
      "The id is in exponent form, as spreadsheets save long numbers, and may have lost digits: format the column as text and export it again.",
      '1E+15,a\n"9,007E+15",b\n',
    ],
  ])("of CSV that cannot be sent are one group: %s", async (reason, rows) => {
    const { run } = await importWith("rows.csv", `id,name\n${rows}`, createAll);
    expect(run.report.groups).toMatchObject([{ error: undefined, reason, count: 2 }]);
  });

  test("with different errors are different groups", async () => {
    const { run } = await importWith("rows.ndjson", '{"name":"a"}\n{"id":1}\n[]', refuseAll);
    expect(run.report.groups.map(({ error, count }) => [error, count])).toEqual([
      [40010, 1],
      [40010, 1],
      [40004, 1],
    ]);
  });

  test("are all counted, but only the first of a group listed", async () => {
    const rows = Array.from({ length: 1200 }, (_, row) => `{"name":"${row}"}`);
    const { run } = await importWith("rows.ndjson", rows.join("\n"), refuseAll);
    const [group] = run.report.groups;
    expect(group?.count).toBe(1200);
    expect(group?.listed).toHaveLength(100);
    expect(group?.listed[99]?.position).toBe(100);
  });
});

test("an import that has ended reports what it counted", async () => {
  const outcomes: LineOutcome[] = [
    "created",
    "created",
    "replayed",
    { error: 40020, message: "conflict", reason: "conflict" },
  ];
  const rows = "id,name\n1,a\n2,b\n3,c\n4,d\nno name\n";
  const { finished } = await importWith("rows.csv", rows, (lines) => outcomes.slice(0, lines.length));
  const path = "/api/imports/finished";
  expect(finished).toEqual([{ path, file: "rows.csv", created: 2, replayed: 1, refused: 2 }]);
});

test("an import reports its end again after a temporary error", async () => {
  let attempts = 0;
  const { run, finished } = await importWith("plants.json", "[1]", createAll, () => {
    attempts++;
    if (attempts === 1) throw new ApiError("This token has reached its limit.", 42901);
  });
  expect(run.state).toBe("done");
  expect(finished).toHaveLength(2);
});

test("an import whose end cannot be recorded is done all the same", async () => {
  const { run } = await importWith("plants.json", "[1]", createAll, () => {
    throw new ApiError("The token lacks the scope plants:create.", 40301);
  });
  expect(run.state).toBe("done");
  expect(run.report.created).toBe(1);
});

test.each([
  [
    "fails",
    "[1]",
    () => {
      throw new ApiError("The token lacks the scope plants:create.", 40301);
    },
  ],
  ["cannot be read to its end", "[1, 2", createAll],
  ["has no rows", "[]", () => []],
])("a file that %s reports no end", async (_, content, service) => {
  const { finished } = await importWith("plants.json", content, service);
  expect(finished).toEqual([]);
});

test("an element of an array is sent as one line", async () => {
  const { sent } = await importWith("plants.json", '[{"id":1,\n"name":"a"},\n2]', (lines) =>
    lines.map(() => "created"),
  );
  expect(sent.map(({ lines }) => lines)).toEqual([[], ['{"id":1, "name":"a"}', "2"]]);
});

test("an import that an error ended can be resumed", async () => {
  const { run, sent } = await importWith("plants.json", "[1]", () => {
    throw new ApiError("The token lacks the scope plants:create.", 40301);
  });
  expect(run.state).toBe("failed");
  expect(run.canResume).toBe(true);
  expect(sent).toHaveLength(1);
});

test("a file that has changed since it was chosen has to be chosen again", async () => {
  const file = new File(["{}"], "edited.json");
  file.slice = () => fake<Blob>({ arrayBuffer: () => Promise.reject(new Error("unreadable")) });
  const run = new ImportRun(file, fake<OperatorApi>({}), 1000);
  await eventually(() => run.state !== "running");
  expect(String(run.error)).toBe(
    "Error: edited.json was changed or removed after you chose it. Choose it again.",
  );
  expect(run.canResume).toBe(false);
});
