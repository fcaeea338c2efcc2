import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plantStore, serve, startPlantStore } from "./command.ts";
import {
  accessToken,
  eventually,
  operatorToken,
  startTestService,
  storedPlants,
  temporaryFolder,
} from "./harness.ts";

const environment = { PLANT_STORE_ACCESS_TOKEN: accessToken };

/** A service, and functions to import files into it. */
async function startImportTest(flags: Record<string, string> = {}) {
  const folder = temporaryFolder();
  const service = await startTestService(flags);
  const path = (name: string) => join(folder.path, name);
  return {
    service,
    path,
    write: (name: string, text: string | Uint8Array) => writeFileSync(path(name), text),
    read: (name: string) => readFileSync(path(name), "utf8"),
    run: (args: readonly string[], more: { input?: string | Uint8Array } = {}) =>
      plantStore(["import", ...args, "--url", service.url], { environment, folder: folder.path, ...more }),
    stored: () =>
      storedPlants(service.database).map(
        ({ id, name, tag }) => [id, name, tag] as [bigint, string, string | null],
      ),
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

const ndjson = (count: number) =>
  Array.from({ length: count }, (_, index) => `{"id":${index + 1},"name":"plant ${index + 1}"}\n`).join("");

describe("import", () => {
  test("reports invalid JSON by its line, and stores the rest", async () => {
    await using plants = await startImportTest();
    const lines = ndjson(5000).split("\n");
    lines[4710] = '{"id":4711,"name":}';
    plants.write("plants.ndjson", lines.join("\n"));
    const first = await plants.run(["plants.ndjson", "--refused", "refused.ndjson"]);
    expect(first.code).toBe(1);
    expect(first.out).toBe("");
    expect(first.err).toContain(
      "line 4711: The row is not valid JSON: at column 19 of the row, expected a value but found }.",
    );
    expect(first.err).toContain("4,999 created, 0 replayed, 1 refused");
    expect(plants.stored()).toHaveLength(4999);

    expect(plants.read("refused.ndjson")).toBe('{"id":4711,"name":}\n');
    plants.write("fixed.ndjson", plants.read("refused.ndjson").replace(":}", ':"fixed"}'));
    expect(await plants.run(["fixed.ndjson"])).toMatchObject({ code: 0 });
    expect(plants.stored()).toHaveLength(5000);
  });

  test("resumes when run again, and replays what is already stored", async () => {
    await using plants = await startImportTest();
    plants.write("plants.ndjson", ndjson(300));
    expect((await plants.run(["plants.ndjson"])).err).toContain("300 created, 0 replayed, 0 refused");
    plants.write("plants.ndjson", ndjson(400));
    const { code, out, err } = await plants.run(["plants.ndjson", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ created: 100, replayed: 300, refused: 0, complete: true });
    // Off a terminal there is neither a progress bar nor colour.
    for (const character of ["\u001b", "\r"]) expect(err).not.toContain(character);
  });

  test("stores every id and text exactly, from all three formats", async () => {
    await using plants = await startImportTest();
    const rows: [bigint, string, string | null][] = [
      [-9223372036854775808n, "least", null],
      [9007199254740993n, 'quotes " and, commas', ""],
      [9223372036854775807n, "two\nlines é 🌱", "t"],
    ];
    const text = (shift: bigint) =>
      rows.map(
        ([id, name, tag]) =>
          `{"id":${BigInt.asIntN(64, id + shift)},${JSON.stringify({ name, tag: tag ?? undefined }).slice(1)}`,
      );
    plants.write("a.ndjson", text(0n).join("\n"));
    plants.write("b.json", `[\n${text(10n).join(",\n")}\n]`);
    const quoted = (value: string) => `"${value.replaceAll('"', '""')}"`;
    const csv = rows.map(
      ([id, name, tag]) =>
        `${tag === null ? "" : quoted(tag)},${quoted(name)},${BigInt.asIntN(64, id + 20n)}\r\n`,
    );
    plants.write("c.csv", `\ufefftag,name,id\r\n${csv.join("")}`);
    for (const file of ["a.ndjson", "b.json", "c.csv"])
      expect((await plants.run([file])).err).toContain("3 created");
    const expected = [0n, 10n, 20n].flatMap((shift) =>
      rows.map(([id, name, tag]) => [BigInt.asIntN(64, id + shift), name, tag]),
    );
    expect(plants.stored().map(String).sort()).toEqual(expected.map(String).sort());
  });

  const refused: [string, string, string][] = [
    ["ndjson", '{"id":1,"name":"a"}\n{"id":1.5,"name":"b"}\n{"id":3}\n', '{"id":1.5,"name":"b"}\n{"id":3}\n'],
    ["json", '[{"id":1,"name":"a"},\n{"id":1.5,\n"name":"b"}]', '[\n{"id":1.5,\n"name":"b"}\n]\n'],
    ["csv", 'name,id\na,1\n"b,\nc",1.5\nd,x\ne\n', 'name,id\ne\n"b,\nc",1.5\nd,x\n'],
  ];
  for (const [format, text, expected] of refused) {
    test(`writes refused ${format} rows unchanged, to be imported again`, async () => {
      await using plants = await startImportTest();
      plants.write("plants", text);
      const args = ["plants", "--format", format, "--refused", "refused"];
      expect((await plants.run(args)).code).toBe(1);
      const lines = (value: string) => value.split("\n").sort();
      expect(lines(plants.read("refused"))).toEqual(lines(expected));
      const again = await plants.run(["refused", "--format", format, "--refused", "again"]);
      expect(again.code).toBe(1);
      expect(lines(plants.read("again"))).toEqual(lines(expected));
      expect(plants.stored()).toEqual([[1n, "a", null]]);
    });
  }

  test("reports an id conflict, a row that is not UTF-8 and one that is too long", async () => {
    await using plants = await startImportTest();
    const bad = Buffer.concat([
      Buffer.from('{"id":1,"name":"first"}\n{"id":2,"name":"'),
      Buffer.from([0xff]),
      Buffer.from(`"}\n{"id":3,"name":"${"x".repeat(70_000)}"}\n{"id":4,"name":"last"}\n`),
    ]);
    plants.write("plants.ndjson", bad);
    const { err } = await plants.run(["plants.ndjson", "--refused", "refused"]);
    expect(err).toContain("line 2: The row is not UTF-8");
    expect(err).toContain("line 3: The row is longer than 65536 bytes");
    expect(err).toContain("1 row is not in it: longer than --max-body-bytes");
    plants.write("other.ndjson", '{"id":4,"name":"other"}');
    const { out } = await plants.run(["other.ndjson", "--json"]);
    expect(JSON.parse(out).refusals).toEqual([
      { line: 1, error: 40020, message: expect.stringContaining("different name") },
    ]);
    expect(plants.stored().map(([id]) => id)).toEqual([1n, 4n]);
  });

  test("reports the position of an error in the file, even with line breaks inside the row", async () => {
    await using plants = await startImportTest();
    plants.write("plants.ndjson", '\n{"id":1,\r"name":}\n');
    expect((await plants.run(["plants.ndjson"])).err).toContain(
      "line 2: The row is not valid JSON: at line 2, expected",
    );
    plants.write("plants.json", '[{"id":1,"name":"a"},{"id":2}, {"id":3}]');
    const { err } = await plants.run(["plants.json"]);
    expect(err).toContain("line 1, element 2: Field");
    expect(err).toContain("line 1, element 3: Field");
  });

  test("reports that the refused rows could not be written", async () => {
    await using plants = await startImportTest();
    plants.write("plants.ndjson", '{"id":1,"name":"a"}\n{"id":2}\n');
    const { code, err } = await plants.run(["plants.ndjson", "--refused", "/dev/full"]);
    expect(code).toBe(1);
    expect(err).toContain("/dev/full cannot be written: the disk is full");
    expect(err).toContain("1 created, 0 replayed, 1 refused");
    expect(err).not.toContain("internal error");
  });

  test("counts refused rows beyond the first twenty", async () => {
    await using plants = await startImportTest();
    plants.write("plants.ndjson", "{}\n".repeat(50));
    const { err } = await plants.run(["plants.ndjson"]);
    expect(err).toContain("line 20: Field");
    expect(err).not.toContain("line 21:");
    expect(err).toContain("30 more rows were refused.");
  });

  test("reads standard input and detects its format", async () => {
    await using plants = await startImportTest();
    expect((await plants.run(["-"], { input: 'id,name\n1,"a"\n' })).code).toBe(0);
    expect((await plants.run(["-"], { input: '\n[{"id":2,"name":"b"}]' })).code).toBe(0);
    expect((await plants.run(["-"], { input: '{"id":3,"name":"c"}' })).code).toBe(0);
    expect(plants.stored().map(([, name]) => name)).toEqual(["a", "b", "c"]);
  });

  test("with --dry-run checks every row without sending it, and needs no token", async () => {
    await using plants = await startImportTest();
    plants.write("plants.ndjson", `${ndjson(30)}{"id":"x","name":"y"}\n`);
    const { code, out, err } = await plantStore([
      "import",
      plants.path("plants.ndjson"),
      "--dry-run",
      "--json",
    ]);
    expect(code).toBe(1);
    expect(err).toContain('line 31: Field "id" must be an integer, but is the string "x".');
    expect(JSON.parse(out)).toMatchObject({ valid: 30, refused: 1, created: 0 });
    expect(plants.stored()).toEqual([]);
  });

  test("works with a path in the base URL", async () => {
    // With a base URL the service does not report its port, so a free one is chosen for it.
    const free = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    free.stop(true);
    const listen = `127.0.0.1:${free.port}`;
    await using plants = await startImportTest({ listen, "base-url": `http://${listen}/garden/v1` });
    plants.write("plants.ndjson", ndjson(3));
    const at = (path: string) =>
      plantStore(
        ["import", plants.path("plants.ndjson"), "--url", `http://127.0.0.1:${plants.service.port}${path}`],
        { environment },
      );
    expect(await at("/garden/v2")).toMatchObject({ code: 1, err: expect.stringContaining("(40401)") });
    expect(await at("/garden/v1/")).toMatchObject({ code: 0 });
  });

  test("slows down for a rate limit instead of failing", async () => {
    await using plants = await startImportTest({ "rate-limit": "50/s" });
    plants.write("plants.ndjson", ndjson(120));
    expect(await plants.run(["plants.ndjson"])).toMatchObject({ code: 0 });
    expect(plants.stored()).toHaveLength(120);
  }, 30_000);
});

describe("an interrupted import", () => {
  test("continues when the service is killed and restarted", async () => {
    using folder = temporaryFolder();
    const count = 20_000;
    const file = join(folder.path, "plants.ndjson");
    const database = join(folder.path, "p.db");
    writeFileSync(file, ndjson(count));
    const first = await serve(["--database", database], { environment });
    const running = startPlantStore(["import", file, "--url", first.url, "--json"], { environment });
    await eventually(() => storedPlants(database).length > 1000);
    first.child.kill("SIGKILL");
    await first.ended();
    const { port } = new URL(first.url);
    await using second = await serve(["--database", database, "--listen", `127.0.0.1:${port}`], {
      environment,
    });
    const { code, out } = await running.ended;
    const { created, replayed, refused } = JSON.parse(out);
    expect([code, created + replayed, refused]).toEqual([0, count, 0]);
    expect(second.url).toBe(first.url);
    expect(storedPlants(database)).toHaveLength(count);
  }, 60_000);

  test("reports in one sentence that the service is unreachable", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.ndjson");
    writeFileSync(file, ndjson(500));
    const { code, err } = await plantStore(["import", file, "--url", "http://127.0.0.1:1", "--wait", "0s"], {
      environment,
    });
    expect(code).toBe(1);
    expect(err.match(/could not be reached in 1 attempt/g)).toHaveLength(1);
    expect(err).toContain("Run this again; it resumes.");
    expect(err).toContain("0 created");
  });

  for (const [token, message] of [
    ["a-token-that-nobody-knows", "40102"],
    [operatorToken, "40301"],
  ]) {
    test(`sends one request if the token is refused with ${message}`, async () => {
      await using plants = await startImportTest();
      plants.write("plants.ndjson", ndjson(5000));
      const { code, err } = await plantStore(
        ["import", plants.path("plants.ndjson"), "--url", plants.service.url],
        { environment: { PLANT_STORE_ACCESS_TOKEN: token ?? "" } },
      );
      expect(code).toBe(1);
      expect(err.match(/The service rejected the token .*/g)).toEqual([
        expect.stringContaining(
          `(${message}). Set PLANT_STORE_ACCESS_TOKEN to one that can create plants and run this again; it resumes.`,
        ),
      ]);
      expect(plants.service.logged.filter((line) => line.includes('"refused"'))).toHaveLength(1);
    });
  }

  test("on Ctrl-C finishes the requests in flight, reports its progress, and can be resumed", async () => {
    await using plants = await startImportTest({ "rate-limit": "100/s" });
    plants.write("plants.ndjson", ndjson(250));
    const args = ["import", plants.path("plants.ndjson"), "--url", plants.service.url, "--concurrency", "4"];
    const running = startPlantStore(args, { environment, through: "launcher" });
    await eventually(() => plants.stored().length > 50);
    running.child.kill("SIGINT");
    const { code, err } = await running.ended;
    expect(code).toBe(130);
    const stored = plants.stored().length;
    expect(stored).toBeLessThan(250);
    expect(err).toContain(`Interrupted after line ${stored}. Run this again; it resumes.`);
    expect(await plantStore(args, { environment })).toMatchObject({
      code: 0,
      err: expect.stringContaining(`${250 - stored} created, ${stored} replayed`),
    });
  }, 30_000);

  test("ends on SIGTERM while it waits for standard input", async () => {
    await using plants = await startImportTest();
    const running = startPlantStore(["import", "-", "--url", plants.service.url], {
      environment,
      input: "open",
    });
    running.child.stdin?.write('{"id":1,"name":"a"}\n{"id":2,"na');
    await eventually(() => plants.stored().length === 1);
    running.child.kill("SIGTERM");
    const { code, err } = await running.ended;
    expect([code, err]).toEqual([143, expect.stringContaining("Interrupted after line 1.")]);
  });
});

describe("an invalid import command", () => {
  const invalid: [string[], number, string, Record<string, string>?][] = [
    [["import"], 2, "usage: plant-store import FILE|-"],
    [["import", "a", "b"], 2, 'unexpected argument "b"'],
    [["import", "plants.csv"], 2, "Set PLANT_STORE_ACCESS_TOKEN", {}],
    [["import", "plants.csv", "--format", "xml"], 2, "--format must be ndjson, json or csv"],
    [["import", "plants.csv", "--concurrency", "0"], 2, "--concurrency must be"],
    [["import", "plants.csv", "--url", "ftp://x"], 2, "--url must be"],
    [["import", "plants.csv", "--refused", "./plants.csv"], 2, "--refused must not name"],
    [["import", "nowhere.csv"], 1, "nowhere.csv cannot be read: no such file or directory."],
    [
      ["import", "plants.csv", "--refused", "no/such/folder"],
      1,
      "cannot be written: no such file or directory.",
    ],
    [["import", "plants.csv", "--format", "json"], 1, "does not start with ["],
    [["import", "empty.csv"], 1, "needs a header"],
  ];
  for (const [args, code, message, variables = environment] of invalid) {
    test(`${args.join(" ")}${variables === environment ? "" : " without a token"}`, async () => {
      using folder = temporaryFolder();
      writeFileSync(join(folder.path, "plants.csv"), "id,name\n1,a\n");
      writeFileSync(join(folder.path, "empty.csv"), "");
      const result = await plantStore(args, { environment: variables, folder: folder.path });
      expect([result.code, result.out, result.err]).toEqual([code, "", expect.stringContaining(message)]);
      expect(result.err.trim().split("\n")).toHaveLength(1);
      expect(readFileSync(join(folder.path, "plants.csv"), "utf8")).toBe("id,name\n1,a\n");
    });
  }
});
