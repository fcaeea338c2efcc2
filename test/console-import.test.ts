import { expect, test as unitTest } from "bun:test";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { ApiError, OperatorApi } from "../src/console/api.ts";
import { ImportRun } from "../src/console/import/import-run.ts";
import type { LineOutcome } from "../src/operator/responses.ts";
import { contentOf, describe, test } from "./browser.ts";
import { makeToken, see, signIn, useConsole } from "./console-session.ts";
import { eventually, operatorPost, post, storedPlants } from "./harness.ts";

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

    const array = '[{"id": 81, "name": "One"},\n {"name":\n"No id"},\n {"name": "Nor here"}]';
    expect(await importFile(page, "plants.json", array)).toEqual(["1", "0", "2"]);
    expect(await download(page, "Download refused rows")).toBe(
      '[\n{"name":\n"No id"},\n{"name": "Nor here"}\n]\n',
    );
    // What a spreadsheet saves.
    const sheet = gzipSync('\ufeffid;name;tag\r\n1191;"Árbol; viejo";indoor\r\nx;Elm;\r\n1192;Oak;\r\n');
    expect(await importFile(page, "sheet.csv.gz", sheet)).toEqual(["2", "0", "1"]);
    await see(page, "Read as CSV separated by semicolons, gzip.");
    expect(find(1191n)).toMatchObject({ name: "Árbol; viejo", tag: "indoor" });
    expect(await download(page, "Download refused rows")).toBe("id;name;tag\nx;Elm;\n");
    await page.getByRole("link", { name: "Audit" }).click();
    await see(page, "2 created, 0 already stored, 1 refused");
  });

  test("that can never be imported says why, where, and offers no Resume", async () => {
    const page = await open("/import");
    const broken = 'id,name\n1291,Oak\nx,Elm\n1292,5" pot\n1293,Fern\n';
    expect(await importFile(page, "broken.csv", broken, "Failed")).toEqual(["1", "0", "1"]);
    await see(page, "The row that starts on line 4 has a quote inside a field");
    expect([await resumable(page), find(1291n)?.name, find(1293n)]).toEqual([0, "Oak", undefined]);
    expect(await download(page, "Download refused rows")).toBe("id,name\nx,Elm\n");
  });

  test("ends with the session, whichever way that ends", async () => {
    const { token, secret } = await operatorPost(session.running, "/api/tokens", {
      name: "leaving",
      scopes: ["operator", "plants:create"],
    });
    const signOut = (page: Page) => page.getByRole("button", { name: "Sign out" }).click();
    const revoke = () => operatorPost(session.running, `/api/tokens/${token.id}/revoke`);
    for (const end of [signOut, revoke]) {
      const page = await open("/import", { token: secret });
      // Never answered, so that only the page itself can end it.
      await page.route("**/api/imports*", () => {});
      const sent = page.waitForRequest("**/api/imports*");
      const aborted = page.waitForEvent("requestfailed", (request) => request.url().includes("/api/imports"));
      await start(page, "endless.ndjson", '{"id": 1391, "name": "Oak"}');
      await sent;
      await page.getByRole("link", { name: "Plants" }).click();
      await end(page);
      await aborted;
    }
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
    await page.getByRole("button", { name: "Revoke slow", exact: true }).click();
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

/**
 * Imports a file with a service that does this with the lines of each request, and that at the end. Returns the run, the requests, and
 * what it reported at the end.
 */
async function importWith(
  name: string,
  content: string,
  service: (lines: string[]) => LineOutcome[],
  atEnd: () => void = () => {},
) {
  const sent: { readonly path: string; readonly lines: string[] }[] = [];
  const finished: unknown[] = [];
  const json = async (path: string, { body }: { body: Blob | string }) => {
    if (typeof body === "string") {
      finished.push({ path, ...JSON.parse(body) });
      return atEnd();
    }
    const lines = (await body.text()).split("\n").slice(0, -1);
    sent.push({ path, lines });
    return { outcomes: service(lines) };
  };
  const run = new ImportRun(new File([content], name), { json } as unknown as OperatorApi, 1000);
  await eventually(() => run.state !== "running");
  return { run, sent, finished };
}

unitTest("rows are sent in parts, the rest of one and what a temporary error met again", async () => {
  const row = (id: number) => `${id},"two\nlines"`;
  const rows = Array.from({ length: 1500 }, (_, id) => (id === 1 ? "no name" : row(id)));
  let requests = 0;
  const { run, sent } = await importWith("rows.csv", `id,name\n${rows.join("\n")}`, (lines) => {
    requests++;
    if (requests === 2 || requests === 4) throw new ApiError("The service is shutting down.", 50303);
    const outcomes = lines.map((): LineOutcome => "created");
    return requests === 3 ? outcomes.slice(0, 400) : outcomes;
  });
  expect(run.state).toBe("done");
  expect([run.report.created, run.report.refused, run.share]).toEqual([1499, 1, 1]);
  // The file is named once, for the audit trail, in a request that is not sent again with the first part.
  expect(sent.map(({ lines }) => lines.length)).toEqual([0, 999, 999, 599, 599, 500]);
  expect(sent.map(({ path }) => path)).toEqual(
    ["?file=rows.csv", "", "", "", "", ""].map((query) => `/api/imports${query}`),
  );
  expect(run.report.listed).toMatchObject([
    { position: 4, reason: "The row has 1 field, but the header has 2." },
  ]);
});

unitTest("an import that has ended reports what it counted", async () => {
  const outcomes: LineOutcome[] = ["created", "created", "replayed", { error: 40020, message: "conflict" }];
  const rows = "id,name\n1,a\n2,b\n3,c\n4,d\nno name\n";
  const { finished } = await importWith("rows.csv", rows, (lines) => outcomes.slice(0, lines.length));
  const path = "/api/imports/finished";
  expect(finished).toEqual([{ path, file: "rows.csv", created: 2, replayed: 1, refused: 2 }]);
});

unitTest("an import reports its end again after a temporary error", async () => {
  let attempts = 0;
  const { run, finished } = await importWith(
    "plants.json",
    "[1]",
    (lines) => lines.map(() => "created"),
    () => {
      attempts++;
      if (attempts === 1) throw new ApiError("This token has reached its limit.", 42901);
    },
  );
  expect(run.state).toBe("done");
  expect(finished).toHaveLength(2);
});

unitTest("an import whose end cannot be recorded is done all the same", async () => {
  const { run } = await importWith(
    "plants.json",
    "[1]",
    (lines) => lines.map(() => "created"),
    () => {
      throw new ApiError("The token lacks the scope plants:create.", 40301);
    },
  );
  expect(run.state).toBe("done");
  expect(run.report.created).toBe(1);
});

unitTest.each([
  [
    "fails",
    "[1]",
    () => {
      throw new ApiError("The token lacks the scope plants:create.", 40301);
    },
  ],
  ["cannot be read to its end", "[1, 2", (lines: string[]) => lines.map(() => "created" as const)],
  ["has no rows", "[]", () => []],
])("a file that %s reports no end", async (_, content, service) => {
  const { finished } = await importWith("plants.json", content, service);
  expect(finished).toEqual([]);
});

unitTest("an element of an array is sent as one line", async () => {
  const { sent } = await importWith("plants.json", '[{"id":1,\n"name":"a"},\n2]', (lines) =>
    lines.map(() => "created"),
  );
  expect(sent.map(({ lines }) => lines)).toEqual([[], ['{"id":1, "name":"a"}', "2"]]);
});

unitTest("an error that is not temporary ends an import, which can be resumed", async () => {
  const { run, sent } = await importWith("plants.json", "[1]", () => {
    throw new ApiError("The token lacks the scope plants:create.", 40301);
  });
  expect([run.state, run.canResume, sent.length]).toEqual(["failed", true, 1]);
});

unitTest("a response that is cut off is like none, so an import sends its rows again", async () => {
  const cutOff = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{";
  using server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void socket.end(cutOff) },
  });
  const answer = new OperatorApi("token", () => {}).get(`http://127.0.0.1:${server.port}/`);
  await expect(answer).rejects.toMatchObject({ name: "ApiError", error: 0 });
});

unitTest("a file that has changed since it was chosen has to be chosen again", async () => {
  const file = new File(["{}"], "edited.json");
  file.slice = () => ({ arrayBuffer: () => Promise.reject(new Error("unreadable")) }) as unknown as Blob;
  const run = new ImportRun(file, {} as OperatorApi, 1000);
  await eventually(() => run.state !== "running");
  expect([String(run.error), run.canResume]).toEqual([
    "Error: edited.json was changed or removed after you chose it. Choose it again.",
    false,
  ]);
});
