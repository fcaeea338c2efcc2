import { expect, test as unitTest } from "bun:test";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { ApiError, type OperatorApi } from "../src/console/api.ts";
import type { ImportedSlice } from "../src/console/api-shapes.ts";
import { ImportRun } from "../src/console/import/import-run.ts";
import { contentOf, describe, test } from "./browser.ts";
import { chooseAction, makeToken, see, signIn, useConsole } from "./console-session.ts";
import { eventually, post, storedPlants } from "./harness.ts";

// A drain timeout that could not end before a test does, and a limit that makes an import take a minute.
const rowsMax = 300;
const session = useConsole(5, { "drain-timeout": "10m", "rate-limit": `${rowsMax}/m` });
const { open } = session;

const find = (id: bigint) => storedPlants(session.running.database).find((plant) => plant.id === id);
const resumable = (page: Page) => page.getByRole("button", { name: "Resume" }).count();

async function start(page: Page, name: string, content: string | Uint8Array): Promise<void> {
  const buffer = Buffer.from(content);
  const file = { name, mimeType: "application/octet-stream", buffer };
  await page.locator("input[type=file]").setInputFiles(file);
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

describe("importing a file", () => {
  test("reports created, already stored and refused rows of any format, with reasons and downloads", async () => {
    const page = await open("/import");
    const good = '{"id": 9007199254740995, "name": "From a file"}';
    const lines = [good, '{"name": "Rosa \u202eevil"}', good, "{not json", '{"id": 61, "name": "Last"}'];
    expect(await importFile(page, "plants.ndjson", lines.join("\n"))).toEqual(["2", "1", "2"]);
    expect(find(9007199254740995n)).toMatchObject({ name: "From a file" });
    expect(await page.locator(".scroll-box tbody tr").allTextContents()).toEqual([
      expect.stringMatching(/^2Field "id" is missing.*\{"name": "Rosa U\+202Eevil"\}$/),
      expect.stringContaining("4The row is not valid JSON"),
    ]);
    expect(await download(page, "Download refused rows")).toBe(`${lines[1]}\n{not json\n`);
    const report = await download(page, "Download report");
    expect(report.trim().split("\r\n")).toHaveLength(6);
    expect(report).toContain("\r\n5,created,,\r\n");
    expect(report).toMatch(/^2,refused,40010,"Field ""id"" is missing/m);

    const array = '[{"id": 81, "name": "One"},\n {"name": "No id"},\n {"name": "Nor here"}]';
    expect(await importFile(page, "plants.json", array)).toEqual(["1", "0", "2"]);
    expect(await download(page, "Download refused rows")).toBe(
      '[\n{"name": "No id"},\n{"name": "Nor here"}\n]\n',
    );
    // What a spreadsheet saves.
    const sheet = gzipSync('\ufeffid;name;tag\r\n1191;"Árbol; viejo";indoor\r\nx;Elm;\r\n1192;Oak;\r\n');
    expect(await importFile(page, "sheet.csv.gz", sheet)).toEqual(["2", "0", "1"]);
    await see(page, "Read as CSV separated by semicolons, gzip.");
    expect(find(1191n)).toMatchObject({ name: "Árbol; viejo", tag: "indoor" });
    expect(await download(page, "Download refused rows")).toBe("id;name;tag\nx;Elm;\n");
  });

  test("that can never be imported says why, where, and offers no Resume", async () => {
    const page = await open("/import");
    const broken = 'id,name\n1291,Oak\nx,Elm\n1292,5" pot\n1293,Fern\n';
    expect(await importFile(page, "broken.csv", broken, "Failed")).toEqual(["1", "0", "1"]);
    await see(page, "The row that starts on line 4 has a quote inside a field");
    expect([await resumable(page), find(1291n)?.name, find(1293n)]).toEqual([0, "Oak", undefined]);
    expect(await download(page, "Download refused rows")).toBe("id,name\nx,Elm\n");

    await importFile(page, "cut.csv.gz", gzipSync(broken).subarray(0, 30), "Failed");
    await see(page, "cut.csv.gz cannot be decompressed.");
    expect(await resumable(page)).toBe(0);
  });

  test("is on every page while it runs, can be stopped and resumed, even in the next session, and never holds a stop", async () => {
    const create = (name: string) => makeToken(session.running, name, ["operator", "plants:create"]);
    // Each has used up its burst, so that its import is running for as long as the test needs it to.
    const [slow, slowest] = [await create("slow"), await create("slowest")];
    for (const token of [slow, slowest])
      await Promise.all(
        Array.from({ length: rowsMax }, () =>
          post(session.running.url, "{}", { Authorization: `Bearer ${token}` }),
        ),
      );
    const next = await create("next");
    const page = await open("/import", { token: "" });
    await signIn(page, slow);
    const lines = Array.from(
      { length: rowsMax },
      (_, row) => `{"id": ${row + 10_000}, "name": "Row ${row}"}`,
    );
    await start(page, "long.ndjson", lines.join("\n"));
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
    await page.getByRole("link", { name: /^Importing \d+%$/ }).click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("heading", { name: "Stopped: long.ndjson" }).waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("heading", { name: "Importing: long.ndjson" }).waitFor();

    await page.getByRole("link", { name: "Tokens" }).click();
    await chooseAction(page, "Revoke", "slow");
    await page.getByRole("dialog").getByRole("button", { name: "Revoke slow" }).click();
    await see(page, "This token has expired or was revoked");
    await signIn(page, next);
    await page.getByRole("link", { name: "Import", exact: true }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("heading", { name: "Done: long.ndjson" }).waitFor();
    const tally = await page.locator(".tally dd").allTextContents();
    const [created = 0, replayed = 0, refused = 0] = tally.map((text) => Number(text.replaceAll(",", "")));
    expect([created + replayed, refused]).toEqual([rowsMax, 0]);
    expect((await download(page, "Download report")).trim().split("\r\n")).toHaveLength(rowsMax + 1);

    // Neither this tab, nor one that polls, nor an import in a third holds up a service that stops.
    const table = await open("/plants", { alone: true });
    await table.locator(".rows .row").first().waitFor();
    const importing = await open("/import", { token: slowest, alone: true });
    await start(
      importing,
      "slowest.ndjson",
      lines.map((line) => line.replace("id", 'id": -1, "x')).join("\n"),
    );
    await eventually(() => find(-1n) !== undefined);
    await session.running.service.close("test");
    expect(session.running.logged.join("")).not.toContain("drain timeout reached");
    await see(importing, "The import waits, and continues by itself.");
  });
});

const kibibyte = 1024;
const mebibyte = kibibyte * kibibyte;
const acceptedBytesMax = 8 * mebibyte;
// Far more than any of these imports needs.
const requestsMax = 50;

/** What the service does with a slice that starts at `offset`: how many of its bytes it reads, or an error. */
type Service = (offset: number, bytes: number, request: number) => number | ApiError;

/** Imports a file of this length, and returns the run and the sizes of the slices. */
async function importSlices(fileBytes: number, service: Service) {
  const sent: number[] = [];
  const fetch = async (path: string, { body }: { body: Blob }): Promise<Response> => {
    const offset = Number(new URL(path, "http://localhost").searchParams.get("cursor") ?? 0);
    sent.push(body.size);
    if (sent.length > requestsMax) throw new ApiError("This import does not end.", 50001);
    const consumed = service(offset, body.size, sent.length);
    if (typeof consumed !== "number") throw consumed;
    const [end, row] = [offset + consumed, sent.length];
    const outcomes: ImportedSlice["outcomes"] =
      consumed === 0 ? [] : [{ result: "created", first: row, last: row }];
    const answer = { format: "json", consumed, cursor: String(end), done: end === fileBytes, outcomes };
    return Response.json(answer);
  };
  const file = new File([new Uint8Array(fileBytes)], "plants.json");
  const run = new ImportRun(file, { fetch } as unknown as OperatorApi);
  await eventually(() => run.state !== "running");
  return { run, sent };
}

const tooLarge = new ApiError("The body is over the limit.", 41301);
const tooLong = (row: number) =>
  `Row ${row} is longer than the service accepts. Shorten it, and import the file again.`;

unitTest.each<[string, number, Service, string]>([
  [
    "a row that is longer than the largest slice",
    20 * mebibyte,
    (offset, bytes) => (bytes > acceptedBytesMax ? tooLarge : offset < 1000 ? 1000 : 0),
    tooLong(2),
  ],
  ["a response that reads nothing of the rest of the file", mebibyte, () => 0, tooLong(1)],
  ["a file of which not even the shortest slice is accepted", mebibyte, () => tooLarge, tooLarge.message],
])("%s ends an import for good", async (_, bytes, service, message) => {
  const { run } = await importSlices(bytes, service);
  expect(run.error).toHaveProperty("message", message);
  expect([run.state, run.canResume]).toEqual(["failed", false]);
});

unitTest("a long row is sent whole, even if the service restarts meanwhile", async () => {
  const row = 3 * mebibyte;
  const { run, sent } = await importSlices(2 * row, (offset, bytes, request) => {
    if (request === 4 || request === 5) return new ApiError("The service is shutting down.", 50303);
    return bytes < row - (offset % row) ? 0 : row;
  });
  expect(run.state).toBe("done");
  // What was too short for the row is not sent again.
  expect(sent.slice(0, 8)).toEqual([0.25, 0.5, 1, 2, 1.5, 1.25, 2.5, 5].map((size) => size * mebibyte));
});

unitTest(
  "a file that has changed since it was chosen, which no browser reads, has to be chosen again",
  async () => {
    const file = new File(["{}"], "edited.json");
    file.slice = () => ({ arrayBuffer: () => Promise.reject(new Error("unreadable")) }) as unknown as Blob;
    const run = new ImportRun(file, {} as OperatorApi);
    await eventually(() => run.state !== "running");
    expect([String(run.error), run.canResume]).toEqual([
      "Error: edited.json was changed or removed after you chose it. Choose it again.",
      false,
    ]);
  },
);

unitTest("a slice is twice as long as what was read of the last one, up to 1 MiB", async () => {
  const { sent } = await importSlices(4 * mebibyte, (_, bytes, request) =>
    request === 4 ? 100 * kibibyte : bytes,
  );
  expect(sent.slice(0, 6)).toEqual([256, 512, 1024, 1024, 200, 400].map((size) => size * kibibyte));
});
