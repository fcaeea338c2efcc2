import { afterAll, describe, expect, test } from "bun:test";
import { linkSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { serve, startPlantStore } from "./command.ts";
import {
  accessToken,
  eventually,
  operatorToken,
  startTestService,
  storedPlants,
  temporaryFolder,
} from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const environment = { PLANT_STORE_ACCESS_TOKEN: accessToken };
const service = await startTestService();
const folder = temporaryFolder();
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

function write(name: string, content: string | Uint8Array): string {
  const path = join(folder.path, name);
  writeFileSync(path, content);
  return path;
}

/** Imports a file with this content, and keeps its refused rows. */
async function importText(name: string, content: string | Uint8Array, args: string[] = []) {
  const refused = join(folder.path, "refused");
  const flags = ["--url", service.url, "--refused", refused, "--json", ...args];
  const { code, out, err } = await runInProcess(["import", write(name, content), ...flags], { environment });
  return { code, err, report: JSON.parse(out), refused: readFileSync(refused, "utf8") };
}

/** The plants with these ids, as they are stored. */
function stored(ids: readonly bigint[]) {
  return storedPlants(service.database)
    .filter(({ id }) => ids.includes(id))
    .map(({ id, name, tag }) => [id, name, tag] as const);
}

describe("import", () => {
  test("stores every id and text exactly, from all three formats, and replays what is stored", async () => {
    const rows = [
      [-9223372036854775808n, "least", null],
      [9007199254740993n, 'quotes " and, commas', ""],
      [9223372036854775807n, "two\nlines é 🌱", "t"],
    ] as const;
    const json = rows.map(
      ([id, name, tag]) => `{"id":${id},${JSON.stringify({ name, tag: tag ?? undefined }).slice(1)}`,
    );
    const quoted = (value: string) => `"${value.replaceAll('"', '""')}"`;
    const csv = rows.map(([id, name, tag]) => `${tag === null ? "" : quoted(tag)},${quoted(name)},${id}\r\n`);
    const { err, report } = await importText("a.ndjson", json.join("\n"));
    expect(report).toMatchObject({ created: 3, replayed: 0, refused: 0, source: "NDJSON" });
    // Off a terminal there is neither a progress line nor colour.
    for (const character of ["\u001b", "\r"]) expect(err).not.toContain(character);
    expect(stored(rows.map(([id]) => id))).toEqual([...rows]);
    for (const [name, text] of [
      ["b.json", `[\n${json.join(",\n")}\n]`],
      ["c.csv", `\ufefftag,name,id\r\n${csv.join("")}`],
    ] as const)
      expect((await importText(name, text)).report).toMatchObject({ created: 0, replayed: 3, refused: 0 });
  });

  test.each([
    [
      "ndjson",
      '{"id":101,"name":"a"}\n{"id":1.5,"name":"b"}\n{"id":3}\n',
      '{"id":1.5,"name":"b"}\n{"id":3}\n',
    ],
    ["json", '[{"id":102,"name":"a"},\n{"id":1.5,\n"name":"b"}]', '[\n{"id":1.5,\n"name":"b"}\n]\n'],
    ["csv", 'name,id\na,103\n"b,\nc",1.5\nd,x\ne\n', 'name,id\n"b,\nc",1.5\nd,x\ne\n'],
  ])(
    "writes refused %s rows unchanged and in order, to be imported again",
    async (format, text, expected) => {
      const first = await importText("plants", text, ["--format", format]);
      expect([first.code, first.report.created, first.refused]).toEqual([1, 1, expected]);
      const again = await importText("plants", first.refused, ["--format", format]);
      expect([again.code, again.report.created, again.refused]).toEqual([1, 0, expected]);
    },
  );

  test("names the line and the reason of every refused row, up to twenty", async () => {
    const long = `{"id":112,"name":"${"x".repeat(70_000)}"}`;
    const conflict = '{"id":110,"name":"first"}\n{"id":110,"name":"other"}\n';
    const { err, report } = await importText("plants.ndjson", `${conflict}${long}\n{"id":1,"name":}\n`);
    expect(report.refusals).toMatchObject([
      { line: 2, error: 40020, message: expect.stringContaining("different name") },
      { line: 3, message: expect.stringContaining("The row is longer than 65536 bytes") },
      { line: 4, error: 40002, message: expect.stringContaining("JSON: at column 16 of the row, expected") },
    ]);
    expect(err).toContain("refused, except those over --max-body-bytes. Fix that file and import it.");

    const many = await importText("plants.ndjson", `{"id":1,\r"name":}\n${"{}\n".repeat(50)}`);
    expect(many.err).toContain("line 1: The row is not valid JSON: at line 1, expected");
    expect(many.err).toContain("line 20: Field");
    expect(many.err).not.toContain("line 21:");
    expect(many.err).toContain("31 more rows were refused.");
  });

  test("with --dry-run checks every row without sending it, and needs no token", async () => {
    const file = write("plants.ndjson", '{"id":141,"name":"a"}\n{"id":"x","name":"y"}\n');
    const { code, out, err } = await runInProcess(["import", file, "--dry-run", "--json"]);
    expect([code, JSON.parse(out)]).toMatchObject([1, { valid: 1, refused: 1, created: 0 }]);
    expect(err).toContain('line 2: Field "id" must be an integer, but is the string "x".');
    expect(err).toEndWith("Dry run: no rows were sent.\n");
    expect(stored([141n])).toEqual([]);
  });

  test("reports that the refused rows could not be written, and what was stored", async () => {
    const file = write("plants.ndjson", '{"id":151,"name":"a"}\n{"id":2}\n');
    const args = ["import", file, "--url", service.url, "--refused", "/dev/full"];
    const { code, err } = await runInProcess(args, { environment });
    expect(code).toBe(1);
    expect(err).toContain("/dev/full cannot be written: the disk is full");
    expect(err).toContain("1 created, 0 replayed, 1 refused");
  });

  test("of a broken file stores what comes before, and says where it ends", async () => {
    const text = 'id,name\n161,a\n2\n3,5" pot\n4,b\n';
    const { code, report, err, refused } = await importText("p.csv", text);
    expect([code, report]).toMatchObject([1, { refused: 1, failure: expect.any(String) }]);
    expect(err).toContain("The import stopped. The row that starts on line 4 has a quote inside a field");
    expect([stored([161n, 4n]).length, refused]).toEqual([1, "id,name\n2\n"]);
  });

  test("stops if the service cannot be reached or refuses the token, or another program responds", async () => {
    const file = write("plants.ndjson", '{"id":181,"name":"a"}\n'.repeat(50));
    const run = async (url: string, token = accessToken) => {
      const args = ["import", file, "--url", url, "--attempts", "1"];
      const { code, err } = await runInProcess(args, { environment: { PLANT_STORE_ACCESS_TOKEN: token } });
      expect(code).toBe(1);
      return err;
    };
    const gone = await run("http://127.0.0.1:1");
    expect(gone).toContain("Run this again; it resumes.\n0 created");
    expect(gone.match(/could not be reached in 1 attempt/g)).toHaveLength(1);
    expect(await run(`${service.url}/elsewhere`)).toContain(
      "(40401) Fix that and run this again; it resumes.",
    );
    const refused = "(40301) Set PLANT_STORE_ACCESS_TOKEN";
    expect(await run(service.url, operatorToken)).toContain(refused);
  });
});

describe("import detects", () => {
  const csv = "id,name,tag\n9007199254740993,Árbol 🌲,x\n2,Moss,\n";
  const dryRun = async (name: string, content: Uint8Array | string) => {
    const file = write(name, content);
    return { file, ...(await runInProcess(["import", file, "--dry-run", "--json"])) };
  };

  test.each<[name: string, content: Uint8Array | string, source: string]>([
    // Several members, as from parallel compressors.
    ["plants", Buffer.concat([gzipSync(csv.slice(0, 20)), gzipSync(csv.slice(20))]), "CSV, gzip"],
    ["plants.csv", csv.replaceAll(",", ";"), "CSV separated by semicolons"],
    ["plants.tsv", csv.replaceAll(",", "\t"), "CSV separated by tabs"],
  ])("%s", async (name, content, source) => {
    const { file, code, out, err } = await dryRun(name, content);
    expect([code, JSON.parse(out)]).toMatchObject([0, { valid: 2, refused: 0, source }]);
    expect(err).toStartWith(`Read ${file} as ${source}.\n`);
  });

  test.each<[name: string, content: Uint8Array, reason: string]>([
    ["excel.txt", Buffer.from(`\ufeff${csv}`, "utf16le"), "is in UTF-16. Convert it to UTF-8 first"],
    ["no-mark.csv", Buffer.from(csv, "utf16le"), "is in UTF-16"],
  ])("that %s must be converted", async (name, content, reason) => {
    const { code, out, err } = await dryRun(name, content);
    expect([code, out, err]).toEqual([1, "", expect.stringContaining(`The file ${reason}`)]);
    expect(err.trim().split("\n")).toHaveLength(1);
  });

  test("that a gzip file is truncated, and does not call it complete", async () => {
    const rows = Array.from({ length: 5000 }, (_, id) => `{"id":${id},"name":"${(id * 7919) % 100_003}"}\n`);
    const { code, out } = await dryRun("cut.gz", gzipSync(rows.join("")).subarray(0, -5));
    const failure = expect.stringContaining("The file cannot be decompressed.");
    expect([code, JSON.parse(out)]).toMatchObject([1, { failure }]);
  });
});

describe("the process of an import", () => {
  const ndjson = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => `{"id":${from + index},"name":"plant"}\n`).join("");

  test("continues when the service is killed and restarted", async () => {
    const count = 5000;
    const database = join(folder.path, "killed.db");
    const file = write("many.ndjson", ndjson(count));
    const first = await serve(["--database", database], { environment });
    const args = ["import", file, "--url", first.url, "--attempts", "1000", "--json"];
    const running = startPlantStore(args, { environment });
    await eventually(() => storedPlants(database).length > 500);
    first.child.kill("SIGKILL");
    await first.ended();
    const { host } = new URL(first.url);
    await using second = await serve(["--database", database, "--listen", host], { environment });
    const { code, out } = await running.ended;
    const { created, replayed, refused } = JSON.parse(out);
    expect([code, created + replayed, refused, second.url]).toEqual([0, count, 0, first.url]);
    expect(storedPlants(database)).toHaveLength(count);
  }, 120_000);

  test("on Ctrl-C reports up to where every row is stored, and can be resumed", async () => {
    const database = join(folder.path, "limited.db");
    const ids = () => storedPlants(database).map(({ id }) => Number(id));
    const args = ["import", write("many.ndjson", ndjson(300)), "--url"];
    {
      await using limited = await startTestService({ "rate-limit": "100/m" }, database);
      const running = startPlantStore([...args, limited.url], { environment, through: "launcher" });
      await eventually(() => ids().length >= 100);
      running.child.kill("SIGINT");
      const { code, err } = await running.ended;
      const [, line] = /Interrupted after line (\d+)\. Run this again; it resumes\./.exec(err) ?? [];
      expect([code, line]).toEqual([130, expect.anything()]);
      expect(ids()).toEqual(expect.arrayContaining(Array.from({ length: Number(line) }, (_, id) => id)));
    }
    await using unlimited = await startTestService({}, database);
    const again = await runInProcess([...args, unlimited.url], { environment });
    const report = expect.stringMatching(/\n\d+ created, \d+ replayed, 0 refused/);
    expect([again, ids().length]).toMatchObject([{ code: 0, err: report }, 300]);
  });

  test("ends on SIGTERM while it waits for standard input", async () => {
    const args = ["import", "-", "--url", service.url];
    const running = startPlantStore(args, { environment, writesInput: true });
    running.child.stdin?.write('{"id":191,"name":"a"}\n{"id":192,"na');
    await eventually(() => stored([191n]).length === 1);
    running.child.kill("SIGTERM");
    const { code, err } = await running.ended;
    // The plant is stored before its response has arrived, which a stop aborts.
    expect([code, err]).toEqual([143, expect.stringMatching(/Interrupted after line [01]\. Run this again/)]);
  });
});

describe("an import of standard input", () => {
  test.each<[fault: string, input: string | Uint8Array, token: string, message: string]>([
    ["its encoding", Buffer.from("\ufeffid,name\n", "utf16le"), accessToken, "is in UTF-16"],
    ["its token", '{"id":1,"name":"a"}\n', operatorToken, "(40301)"],
  ])("that fails for %s ends before its writer does", async (_, input, token, message) => {
    const args = ["import", "-", "--url", service.url];
    const options = { environment: { PLANT_STORE_ACCESS_TOKEN: token }, writesInput: true };
    const { child, ended } = startPlantStore(args, options);
    child.stdin?.write(input);
    expect(await ended).toMatchObject({ code: 1, err: expect.stringContaining(message) });
  });
});

describe("an import command is refused", () => {
  const file = write("refused.csv", "id,name\n1,a\n");
  const hardLink = join(folder.path, "hard-link.csv");
  linkSync(file, hardLink);
  const loop = join(folder.path, "loop.csv");
  symlinkSync(loop, loop);
  test.each<[args: string[], code: number, message: string, variables?: Record<string, string>]>([
    [[file], 2, "Set PLANT_STORE_ACCESS_TOKEN. To create a token:", {}],
    [[file, "--format", "xml"], 2, "--format must be ndjson, json or csv"],
    [[file, "--attempts", "0"], 2, "--attempts must be"],
    [[file, "--url", "http://me:secret@x"], 2, "--url must be"],
    [[file, "--refused", hardLink], 2, "--refused must not name"],
    [["-", "--refused", "/dev/stdin"], 2, "--refused must not name"],
    [["nowhere.csv"], 1, "nowhere.csv cannot be read: no such file or directory."],
    [[loop], 1, "loop.csv cannot be read: too many symbolic links."],
    [[file, "--refused", "no/such/folder"], 1, "cannot be written: no such file or directory."],
    [[file, "--format", "json"], 1, "does not start with ["],
  ])("%j", async (args, code, message, variables = environment) => {
    const result = await runInProcess(["import", ...args], { environment: variables });
    expect([result.code, result.out, result.err]).toEqual([code, "", expect.stringContaining(message)]);
    expect(result.err.trim().split("\n")).toHaveLength(1);
    expect(readFileSync(file, "utf8")).toBe("id,name\n1,a\n");
  });
});
