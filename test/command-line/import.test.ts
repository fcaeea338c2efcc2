// The import command: a file of plants is sent to a service, row by row, with a report of those that are refused.
import { afterAll, describe, expect, test } from "bun:test";
import { linkSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { serve, startPlantStore } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessToken, accessTokenEnvironment as environment, operatorToken } from "../support/tokens.ts";

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

/** Imports a file with this content, with a report as JSON, and keeps its refused rows. */
async function importText(name: string, content: string | Uint8Array, args: string[] = [], to = service) {
  const refused = join(folder.path, "refused");
  const flags = ["--url", to.url, "--refused", refused, "--json", ...args];
  const { code, out, err } = await runInProcess(["import", write(name, content), ...flags], { environment });
  return { code, err, report: JSON.parse(out), refused: readFileSync(refused, "utf8") };
}

/** Those of these ids that are stored. */
function storedOf(...ids: bigint[]): bigint[] {
  const stored = storedPlants(service.database).map(({ id }) => id);
  return ids.filter((id) => stored.includes(id));
}

describe("import", () => {
  const plants = [
    { id: -9223372036854775808n, name: "least", tag: null },
    { id: 9007199254740993n, name: 'quotes " and, commas', tag: "" },
    { id: 9223372036854775807n, name: "two\nlines é 🌱", tag: "t" },
  ];
  const objects = [
    '{"id":-9223372036854775808,"name":"least"}',
    '{"id":9007199254740993,"name":"quotes \\" and, commas","tag":""}',
    '{"id":9223372036854775807,"name":"two\\nlines é 🌱","tag":"t"}',
  ];
  const records = [
    ',"least",-9223372036854775808',
    '"","quotes "" and, commas",9007199254740993',
    't,"two\nlines é 🌱",9223372036854775807',
  ];

  test.each([
    ["plants.ndjson", objects.join("\n")],
    ["plants.json", `[\n${objects.join(",\n")}\n]`],
    ["plants.csv", `\ufefftag,name,id\r\n${records.join("\r\n")}`],
  ])("stores every id and text of %s exactly, and replays them the next time", async (name, text) => {
    await using empty = await startTestService();
    const first = await importText(name, text, [], empty);
    expect(first.report).toMatchObject({ created: 3, replayed: 0, refused: 0 });
    expect(storedPlants(empty.database)).toMatchObject(plants);
    const again = await importText(name, text, [], empty);
    expect(again.report).toMatchObject({ created: 0, replayed: 3, refused: 0 });
  });

  const wrong = '{"id":1.5,\n"name":"b"}';
  const ndjson = '{"id":1.5,"name":"b"}\n{"id":3}\n';
  const csv = '"b,\nc",1.5\nd,x\ne\n';
  test.each([
    ["ndjson", `{"id":101,"name":"a"}\n${ndjson}`, ndjson],
    ["json", `[{"id":102,"name":"a"},\n${wrong}]`, `[\n${wrong}\n]\n`],
    ["csv", `name,id\na,103\n${csv}`, `name,id\n${csv}`],
  ])("writes the refused rows of %s to a file that can be imported again", async (format, text, refused) => {
    const first = await importText("plants", text, ["--format", format]);
    const again = await importText("plants", first.refused, ["--format", format]);
    expect(first).toMatchObject({ code: 1, report: { created: 1 }, refused });
    expect(again).toMatchObject({ code: 1, report: { created: 0 }, refused });
  });

  test("with --json names the line and the reason of every refused row", async () => {
    const conflict = '{"id":110,"name":"first"}\n{"id":110,"name":"other"}\n';
    const long = `{"id":112,"name":"${"x".repeat(70_000)}"}\n`;
    const { code, err, report } = await importText("plants.ndjson", `${conflict}${long}{"id":1,"name":}\n`);
    expect(code).toBe(1);
    expect(err).toBe("");
    expect(report.refused).toBe(3);
    expect(report.refusals).toMatchObject([
      { line: 2, error: 40020, message: expect.stringContaining("different name") },
      { line: 3, message: expect.stringContaining("The row is longer than 65536 bytes") },
      { line: 4, error: 40002, message: expect.stringContaining("JSON: at column 16 of the row, expected") },
    ]);
  });

  test("with --dry-run checks every row without sending it or reading a token, and prints twenty that are refused", async () => {
    const file = write("plants.ndjson", `{"id":1,\r"name":}\n{"id":141,"name":"a"}\n${"{}\n".repeat(50)}`);
    const { code, out, err } = await runInProcess(["import", file, "--dry-run"], {
      environment: { PLANT_STORE_ACCESS_TOKEN: "short", PLANT_STORE_OPERATOR_TOKEN_FILE: folder.newPath() },
    });
    expect(code).toBe(1);
    expect(out).toBe("");
    expect(err).toStartWith(
      `Read ${file} as NDJSON.\nline 1: The row is not valid JSON: at line 1, expected`,
    );
    expect(err).toContain("line 21: Field");
    expect(err).not.toContain("line 22:");
    expect(err).toContain("31 more rows were refused.");
    expect(err).toMatch(/\n1 valid, 51 refused in .* s\.\nDry run: no rows were sent\.\n$/);
    expect(storedOf(141n)).toEqual([]);
  });

  test("reads what was compressed in several parts, and says how it reads it", async () => {
    const text = "id;name;tag\n9007199254740993;Árbol 🌲;x\n2;Moss;\n";
    const parts = Buffer.concat([gzipSync(text.slice(0, 20)), gzipSync(text.slice(20))]);
    const { report } = await importText("plants", parts, ["--dry-run"]);
    expect(report).toMatchObject({ valid: 2, refused: 0, source: "CSV separated by semicolons, gzip" });
  });

  test("stores what comes before the place where a file is broken", async () => {
    const text = 'id,name\n161,a\n2\n3,5" pot\n164,b\n';
    const { code, report, refused } = await importText("p.csv", text);
    expect(code).toBe(1);
    expect(report.refused).toBe(1);
    expect(report.failure).toStartWith(
      "The import stopped. The row that starts on line 4 has a quote inside a field",
    );
    expect(storedOf(161n, 164n)).toEqual([161n]);
    expect(refused).toBe("id,name\n2\n");
  });

  test("reports what was stored if the refused rows cannot be written", async () => {
    const file = write("plants.ndjson", '{"id":151,"name":"a"}\n{"id":2}\n');
    const args = ["import", file, "--url", service.url, "--refused", "/dev/full"];
    const { code, err } = await runInProcess(args, { environment });
    expect(code).toBe(1);
    expect(err).toContain("/dev/full cannot be written: the disk is full");
    expect(err).toContain("1 created, 0 replayed, 1 refused");
  });

  const stopped: [reason: string, url: string, token: string, says: string][] = [
    [
      "the service cannot be reached",
      "http://127.0.0.1:1",
      accessToken,
      "once that is fixed, run this again",
    ],
    [
      "another program responds",
      `${service.url}/elsewhere`,
      accessToken,
      "(40401) check --url, which must be",
    ],
    ["the token lacks the scope", service.url, operatorToken, "(40301) set plant_store_access_token"],
  ];
  test.each(stopped)("stops, and says so once, if %s", async (_, url, token, says) => {
    const file = write("plants.ndjson", '{"id":181,"name":"a"}\n'.repeat(50));
    const { code, err } = await runInProcess(["import", file, "--url", url, "--attempts", "1"], {
      environment: { PLANT_STORE_ACCESS_TOKEN: token },
    });
    expect(code).toBe(1);
    expect(err.match(/The import stopped\./g)).toHaveLength(1);
    expect(err.toLowerCase()).toContain(says);
  });
});

describe("an import of many rows", () => {
  const rows = (count: number) =>
    Array.from({ length: count }, (_, id) => `{"id":${id},"name":"plant"}\n`).join("");

  test("continues when the service is killed and restarted", async () => {
    const count = 3000;
    const database = join(folder.path, "killed.db");
    const file = write("killed.ndjson", rows(count));
    await using first = await serve(["--database", database], { environment });
    const args = ["import", file, "--url", first.url, "--attempts", "1000", "--json"];
    const importing = runInProcess(args, { environment });
    await eventually(() => storedPlants(database).length > 300);
    first.child.kill("SIGKILL");
    await first.ended;
    const { host } = new URL(first.url);
    await using _second = await serve(["--database", database, "--listen", host], { environment });
    const { code, out } = await importing;
    const { created, replayed, refused } = JSON.parse(out);
    expect(code).toBe(0);
    expect(created + replayed).toBe(count);
    expect(refused).toBe(0);
    expect(storedPlants(database)).toHaveLength(count);
  }, 120_000);

  test("resumes after Ctrl-C where it says that every row is stored", async () => {
    const database = join(folder.path, "limited.db");
    const ids = () => storedPlants(database).map(({ id }) => Number(id));
    const args = ["import", write("limited.ndjson", rows(300)), "--url"];
    {
      await using limited = await startTestService({ "rate-limit": "100/m", database });
      await using running = startPlantStore([...args, limited.url], { environment });
      await eventually(() => ids().length >= 100);
      running.child.kill("SIGINT");
      const { code, err } = await running.ended;
      const [, line] = /Interrupted after line (\d+)\. Run this again; it resumes\./.exec(err) ?? [];
      expect(code).toBe(130);
      expect(line).toBeDefined();
      expect(ids()).toEqual(expect.arrayContaining(Array.from({ length: Number(line) }, (_, id) => id)));
    }
    await using unlimited = await startTestService({ database });
    const again = await runInProcess([...args, unlimited.url], { environment });
    expect(again.code).toBe(0);
    expect(again.err).toMatch(/\n\d+ created, \d+ replayed, 0 refused/);
    expect(ids()).toHaveLength(300);
  });
});

describe("the process of an import of standard input", () => {
  /** Starts it, and writes this text, after which more could come. */
  function startPiped(input: string | Uint8Array) {
    const running = startPlantStore(["import", "-", "--url", service.url], {
      environment,
      writesInput: true,
    });
    running.child.stdin?.write(input);
    return running;
  }

  test("ends on SIGTERM while it waits for more", async () => {
    await using running = startPiped('{"id":191,"name":"a"}\n{"id":192,"na');
    await eventually(() => storedOf(191n).length === 1);
    running.child.kill("SIGTERM");
    const { code, err } = await running.ended;
    // The plant is stored before its response has arrived, which a stop aborts.
    expect(code).toBe(143);
    expect(err).toMatch(/Interrupted after line [01]\. Run this again/);
  });

  test("that fails for its encoding ends before its writer does", async () => {
    await using running = startPiped(Buffer.from("\ufeffid,name\n", "utf16le"));
    const { code, err } = await running.ended;
    expect(code).toBe(1);
    expect(err).toContain("is in UTF-16. Convert it to UTF-8 first");
  });
});

// FILE, HARD-LINK, LOOP and MISSING stand for paths.
test.each<[args: string, code: number, message: string, variables?: Record<string, string>]>([
  ["FILE", 2, "Set PLANT_STORE_ACCESS_TOKEN. To create a token, on the machine of the service:", {}],
  ["FILE", 2, "PLANT_STORE_ACCESS_TOKEN must hold a token", { PLANT_STORE_ACCESS_TOKEN: "two words" }],
  ["FILE", 2, "its checksum is wrong", { PLANT_STORE_ACCESS_TOKEN: "pst_mistyped" }],
  ["MISSING", 1, "MISSING cannot be read: no such file or directory.", {}],
  ["FILE --format xml", 2, "--format must be ndjson, json or csv"],
  ["FILE --attempts 0", 2, "--attempts must be"],
  ["FILE --refused HARD-LINK", 2, "--refused must not name"],
  ["- --refused /dev/stdin", 2, "--refused must not name"],
  ["LOOP", 1, "LOOP cannot be read: too many symbolic links."],
  ["FILE --refused no/such/folder", 1, "cannot be written: no such file or directory."],
  ["FILE --format json", 1, "does not start with ["],
])("import %s is refused with %d: %s", async (args, code, message, variables = environment) => {
  using made = temporaryFolder();
  const file = join(made.path, "FILE");
  writeFileSync(file, "id,name\n1,a\n");
  linkSync(file, join(made.path, "HARD-LINK"));
  symlinkSync("LOOP", join(made.path, "LOOP"));
  const withPaths = args.replace(/\b[A-Z-]{4,}\b/g, (name) => join(made.path, name)).split(" ");
  const result = await runInProcess(["import", ...withPaths], { environment: variables });
  expect(result.code).toBe(code);
  expect(result.out).toBe("");
  expect(result.err).toContain(message);
  expect(result.err).toStartWith("plant-store: ");
  expect(readFileSync(file, "utf8")).toBe("id,name\n1,a\n");
});
