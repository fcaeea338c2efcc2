import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { attemptsToLast } from "../src/cli/import-rows.ts";
import { accessToken, startTestService, storedPlants, temporaryFolder } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const csv = "id,name,tag\n9007199254740993,Árbol 🌲,x\n2,Moss,\n";

async function dryRun(name: string, content: Uint8Array | string) {
  using folder = temporaryFolder();
  const file = join(folder.path, name);
  writeFileSync(file, content);
  const { code, out, err } = await runInProcess(["import", file, "--dry-run", "--json"]);
  return {
    code,
    report: out === "" ? undefined : JSON.parse(out),
    err: err.replaceAll(`${folder.path}/`, ""),
  };
}

describe("import detects", () => {
  const files: [name: string, content: Uint8Array | string, source: string][] = [
    ["plants.csv", csv, "CSV"],
    ["plants.csv.gz", gzipSync(csv), "CSV, gzip"],
    // Several members, as from parallel compressors.
    ["plants", Buffer.concat([gzipSync(csv.slice(0, 20)), gzipSync(csv.slice(20))]), "CSV, gzip"],
    ["plants.csv", csv.replaceAll(",", ";"), "CSV separated by semicolons"],
    ["plants.tsv", csv.replaceAll(",", "\t"), "CSV separated by tabs"],
    ["p.json", gzipSync('[{"id":1,"name":"a"},{"id":2,"name":"b"}]'), "JSON, gzip"],
  ];
  for (const [name, content, source] of files) {
    test(`${name} as ${source}`, async () => {
      const { code, report, err } = await dryRun(name, content);
      expect([code, report]).toMatchObject([0, { valid: 2, refused: 0, source }]);
      expect(err).toStartWith(`Read ${name} as ${source}.\n`);
    });
  }

  const unreadable: [name: string, content: Uint8Array, reason: string][] = [
    ["plants.csv.zst", zstdCompressSync(csv), "is compressed with zstd. Decompress it first"],
    ["excel.txt", Buffer.from(`\ufeff${csv}`, "utf16le"), "is in UTF-16. Convert it to UTF-8 first"],
    ["plants.csv", Buffer.from(`\ufeff${csv}`, "utf16le").swap16(), "is in UTF-16"],
    ["no-mark.csv", Buffer.from(csv, "utf16le"), "is in UTF-16"],
    ["both.csv.gz", gzipSync(Buffer.from(csv, "utf16le")), "is in UTF-16"],
  ];
  for (const [name, content, reason] of unreadable) {
    test(`that ${name} ${reason}`, async () => {
      const { code, report, err } = await dryRun(name, content);
      expect([code, report, err]).toEqual([1, undefined, expect.stringContaining(`The file ${reason}`)]);
      expect(err.trim().split("\n")).toHaveLength(1);
    });
  }

  test("that a gzip file is truncated, and does not call it complete", async () => {
    const rows = Array.from(
      { length: 50_000 },
      (_, id) => `{"id":${id},"name":"${(id * 7919) % 100_003}"}\n`,
    ).join("");
    const { code, report } = await dryRun("cut.gz", gzipSync(rows).subarray(0, -5));
    expect([code, report]).toMatchObject([1, { complete: false }]);
    expect(report.failure).toContain("cannot be decompressed");
  });
});

const brokenFiles: [name: string, text: string, failure: string][] = [
  [
    "plants.csv",
    'id,name\n1,a\n2\n3,5" pot\n4,b\n',
    "The row that starts on line 4 has a quote inside a field",
  ],
  [
    "plants.csv",
    'id,name\n1,a\n2\n3,"open\n4,b\n',
    "The row that starts on line 4 has a quoted field that is never",
  ],
  [
    "plants.json",
    '[{"id":1,"name":"a"},\n{"id":2},\n{"id":3,},\n{"id":4,"name":"b"}]',
    "Line 3, element 3: The row is",
  ],
  [
    "plants.json",
    '[{"id":1,"name":"a"},\n{"id":2},\n{"id":4',
    "Line 3, element 3: The file ends inside the array",
  ],
];
for (const [name, text, failure] of brokenFiles) {
  test(`the import of a broken file stores what comes before, and says: ${failure}`, async () => {
    using folder = temporaryFolder();
    await using service = await startTestService();
    const file = join(folder.path, name);
    const refused = join(folder.path, "refused");
    writeFileSync(file, text);
    const { code, out, err } = await runInProcess(
      ["import", file, "--url", service.url, "--json", "--refused", refused],
      { environment: { PLANT_STORE_ACCESS_TOKEN: accessToken } },
    );
    expect(JSON.parse(out)).toMatchObject({ created: 1, refused: 1, complete: false });
    expect([code, err]).toEqual([1, expect.stringContaining(`The import stopped. ${failure}`)]);
    expect(err).toContain("Fix that and run this again; it resumes.");
    expect(storedPlants(service.database).map(({ id }) => id)).toEqual([1n]);
    expect(readFileSync(refused, "utf8")).toBe(name.endsWith("csv") ? "id,name\n2\n" : '[\n{"id":2}\n]\n');
  });
}

/** Imports the rows into an HTTP server that responds with what `respond` returns, and returns the refused rows. */
async function importInto(
  respond: (body: string) => Promise<{ status: number; body: string }>,
  name: string,
  rows: readonly string[],
) {
  using folder = temporaryFolder();
  const file = join(folder.path, name);
  const refused = join(folder.path, "refused");
  writeFileSync(file, rows.join("\n"));
  let connections = 0;
  const server = createServer(async (request, response) => {
    const { status, body } = await respond(await text(request));
    response.writeHead(status, { "Content-Type": "application/json" }).end(body);
  }).on("connection", () => void connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { code } = await runInProcess(["import", file, "--url", url, "--refused", refused], {
    environment: { PLANT_STORE_ACCESS_TOKEN: accessToken },
  });
  server.closeAllConnections();
  server.close();
  return { code, connections, refused: readFileSync(refused, "utf8").trimEnd().split("\n") };
}

const stored = { status: 200, body: '{"name":"a"}' };
const conflict = { status: 400, body: '{"error":40020,"message":"A conflict."}' };

test("refused rows are saved in the order of the file, whatever the order of the responses", async () => {
  const rows = Array.from({ length: 300 }, (_, id) => `{"id":${id},"name":${id % 3 === 1 ? 5 : '"a"'}}`);
  const { code, refused } = await importInto(
    async (body) => {
      const { id, name } = JSON.parse(body);
      // The earlier a row, the later its response.
      await Bun.sleep((300 - id) / 3);
      return name === "a" ? stored : conflict;
    },
    "plants.ndjson",
    rows,
  );
  expect([code, refused]).toEqual([1, rows.filter((row) => !row.includes('"a"'))]);
});

test("rows that are refused without being sent are saved after the row before them, which waits for its response", async () => {
  // Only the first is sent: the others have a field too many.
  const rows = ["id,name", "0,slow", ...Array.from({ length: 300 }, (_, id) => `${id + 1},a,b`)];
  const { refused } = await importInto(() => Bun.sleep(100).then(() => conflict), "plants.csv", rows);
  expect(refused).toEqual(rows);
});

test("refused rows are saved in a complete file even if the import ends early", async () => {
  const revoked = { status: 401, body: '{"error":40102,"message":"The token was revoked."}' };
  const { code, refused } = await importInto(
    async (body) => (body.includes('"id":1') ? conflict : revoked),
    "plants.json",
    ['[{"id":1,"name":"a"},', '{"id":2,"name":"b"}]'],
  );
  expect([code, refused]).toEqual([1, ["[", '{"id":1,"name":"a"}', "]"]]);
});

test("an import reuses its connections", async () => {
  const rows = Array.from({ length: 1000 }, (_, id) => `{"id":${id},"name":"a"}`);
  const { code, connections } = await importInto(() => Bun.sleep(1).then(() => stored), "p.ndjson", rows);
  expect(code).toBe(0);
  expect(connections).toBeLessThanOrEqual(64);
});

describe("--wait", () => {
  test("lasts at least that long, even if every delay is as short as it can be", () => {
    const lastsMs = (attempts: number) =>
      Array.from({ length: attempts - 1 }, (_, index) => Math.min(250 * 2 ** index, 4000) / 2).reduce(
        (sum, delay) => sum + delay,
        0,
      );
    for (const waitMs of [0, 1, 1000, 60_000, 3_600_000]) {
      const attempts = attemptsToLast(waitMs);
      expect(lastsMs(attempts)).toBeGreaterThanOrEqual(waitMs);
      expect(attempts === 1 || lastsMs(attempts - 1) < waitMs).toBe(true);
    }
  });

  test("has a limit", async () => {
    const environment = { PLANT_STORE_ACCESS_TOKEN: accessToken };
    const long = await runInProcess(["import", "x", "--wait", "2d"], { environment });
    expect([long.code, long.err]).toEqual([2, expect.stringContaining("at most 1d")]);
  });
});
