import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flameGraph, mergeStacks } from "../bench/flame-graph.ts";
import { noiseProblem, parseCpuTimes, RepeatedWhereStolen, relativeSpread } from "../bench/noise.ts";
import { benchOptions } from "../bench/options.ts";
import { medianInterval } from "../bench/pairs.ts";
import { report } from "../bench/report.ts";
import type { Row } from "../bench/report-rates.ts";
import { knownResults, saveResults } from "../bench/results.ts";
import { metricsSwitch, writeSwitchedCopy } from "../bench/switched.ts";
import { verdict } from "../bench/verdict.ts";
import { restUs, type Span } from "../bench/waits.ts";
import { countFrames, expectedLeaves } from "../bench/wal-frames.ts";

const docs = join(import.meta.dir, "../docs");
const quiet = { others: 0.02, steal: 0, spread: 0.04 };

describe("the guard", () => {
  const good = [0.95, 1.02, 0.97];
  const slow = [0.5, 1.02, 0.6];

  test("passes at the floor, and fails under it", () => {
    expect(verdict(good, quiet)).toMatchObject({ exitCode: 0 });
    const { exitCode, text } = verdict(slow, quiet);
    expect([exitCode, text]).toEqual([1, "0.60 of bare Bun.serve, floor 0.9: UNDER THE FLOOR"]);
  });

  test.each([
    ["others", { ...quiet, others: 0.4 }, "other processes use 40% of the processor"],
    ["steal", { ...quiet, steal: 0.12 }, "the hypervisor takes 12% of it"],
    ["spread", { ...quiet, spread: 0.31 }, "the bare server's rates differ by 31%"],
  ])("does not judge if there is too much noise: %s", (_, noise, sentence) => {
    for (const ratios of [good, slow]) {
      const { exitCode, text } = verdict(ratios, noise);
      expect(exitCode).toBe(3);
      expect(text).toContain(`The machine is too noisy to judge: ${sentence}`);
      expect(text).not.toMatch(/fine|UNDER/);
    }
  });

  test("names every kind of noise", () => {
    expect(noiseProblem({ others: 1, steal: 1, spread: 1 })?.match(/limit/g)).toHaveLength(3);
    expect(noiseProblem(quiet)).toBeUndefined();
  });

  test("reads steal and idle time from /proc/stat", () => {
    const text = "cpu  10 20 30 400 50 6 7 80 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
    expect(parseCpuTimes(text)).toEqual({ total: 603, idle: 450, steal: 80 });
  });

  test("measures the spread of the middle half, which one bad round does not change", () => {
    expect(relativeSpread([100, 100, 100, 100, 10])).toBe(0);
    expect(relativeSpread([60, 80, 100, 120, 140])).toBeCloseTo(0.4);
  });
});

test.each([
  [6, [1, 6]],
  [10, [2, 9]],
  [30, [10, 21]],
  [3, [1, 3]],
])("the 95%% interval of the median of %i values is between ranks %j", (count, ranks) => {
  const values = Array.from({ length: count }, (_, index) => count - index);
  expect(medianInterval(values)).toEqual(ranks as [number, number]);
});

test("a measurement is repeated if the hypervisor took too much, a limited number of times in a run", async () => {
  const steals = [20, 20, 0, 20, 20];
  let times = { total: 0, idle: 0, steal: 0 };
  let measured = 0;
  const measure = async (): Promise<number> => {
    times = { total: times.total + 100, idle: 0, steal: times.steal + (steals[measured] ?? 0) };
    return ++measured;
  };
  const repeated = new RepeatedWhereStolen(3, () => times);
  expect(await repeated.run(measure)).toBe(3);
  expect(await repeated.run(measure)).toBe(5);
});

describe("a silence", () => {
  const span = (startUs: number, endUs: number): Span => ({ startUs, us: endUs - startUs });

  test("without the waits that explain it is what the service took itself", () => {
    expect(restUs(span(100, 200), [])).toBe(100);
    expect(restUs(span(100, 200), [span(0, 90), span(110, 150), span(210, 300)])).toBe(60);
    expect(restUs(span(100, 200), [span(50, 120), span(190, 400)])).toBe(70);
    expect(restUs(span(100, 200), [span(0, 300)])).toBe(0);
  });

  test("counts waits that overlap once", () => {
    expect(restUs(span(100, 200), [span(110, 180), span(120, 130), span(150, 190)])).toBe(20);
  });
});

describe("the options of the benchmarks", () => {
  test("nothing is written unless asked for", () => {
    expect(benchOptions([])).toEqual({ write: false, quick: false, positional: [] });
    expect(benchOptions(["3", "--write"])).toEqual({ write: true, quick: false, positional: ["3"] });
  });

  test("a quick run is not written, and an unknown option is refused", () => {
    expect(() => benchOptions(["--quick", "--write"])).toThrow("too short to be written");
    expect(() => benchOptions(["--wirte"])).toThrow("There is no option --wirte");
  });
});

describe("the benchmarks page", () => {
  test("is what the stored results make; bun bench/results.ts rewrites it", () => {
    for (const [name, text] of Object.entries(report(knownResults())))
      expect(readFileSync(join(docs, name), "utf8")).toBe(text);
  });

  test("changes only with --write, and then says where each section was measured", () => {
    const folder = mkdtempSync(join(tmpdir(), "plant-store-bench-test-"));
    const page = (): string => readFileSync(join(folder, "benchmarks.md"), "utf8");
    const pauses = { minutes: 1, plants: 1, longestSilenceMs: 1, slowestAnswerMs: 1, memoryMb: [] };
    const older = { pauses, measured: { pauses: "on another machine" } };
    const imports = { rows: 1000, ratio: 0.9, highestMb: 80 };
    try {
      mkdirSync(join(folder, "benchmarks"));
      writeFileSync(join(folder, "benchmarks/results.json"), JSON.stringify(older));
      saveResults({ imports }, { write: false }, folder);
      expect(existsSync(join(folder, "benchmarks.md"))).toBe(false);
      expect(knownResults(folder)).toEqual(older);
      saveResults({ imports }, { write: true }, folder);
      expect(page().slice(0, page().indexOf("## Import"))).toContain("Measured on another machine.");
      expect(page().slice(page().indexOf("## Import"))).toMatch(
        new RegExp(`Measured on \\d{4}-\\d\\d-\\d\\d, on \\d+ cores \\(${process.arch}\\), \\w+ \\S+, Bun `),
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("shows the load generator's CPU, and the rows with differing headers", () => {
    const row = (name: string, rate: number): Row => ({
      name,
      durability: "",
      rate,
      ratio: rate / 1000,
      p50Us: 1,
      p99Us: 2,
      p999Us: 3,
      memoryMb: 4,
      cpuUsPerCreate: 5,
      loadCores: 0.31,
    });
    const rows = [row("plant-store", 900), row("bare Bun.serve", 1000)];
    const page = report({ rates: { "256": rows }, differing: { "64": rows } })["benchmarks.md"] ?? "";
    expect(page).toContain("| 5 | 0.31 |");
    expect(page).toContain("### 64 connections, headers that differ");
  });

  test("says how PocketBase handles a commit and an int64", () => {
    const facts = {
      version: "0.22.20",
      synchronous: "NORMAL",
      sent: "9007199254740993",
      returned: "9007199254740992",
    };
    const page = report({ pocketBase: facts })["benchmarks.md"] ?? "";
    expect(page).toContain("`synchronous=NORMAL`: a commit is not fsynced");
    expect(page).toMatch(/9007199254740993 comes back from it\sas 9007199254740992/);
  });
});

describe("the flame graph", () => {
  const node = (id: number, functionName: string, url: string, children: number[] = []) => ({
    id,
    callFrame: { functionName, url, lineNumber: 1 },
    children,
  });
  const profile = {
    nodes: [
      node(1, "(root)", "", [2, 3]),
      node(2, "receive", "file:///a/src/http/wire/connection.ts", [4]),
      node(3, "receive", "file:///a/src/http/wire/connection.ts"),
      node(4, "parse<T>", "file:///a/src/plants/parse-new-plant.ts"),
    ],
    samples: [2, 4, 4, 3],
  };

  test("merges equal calls, and counts a callee's samples for its caller", () => {
    const root = mergeStacks(profile);
    const [receive] = root.callees.values();
    expect([root.samples, root.callees.size, receive?.samples, receive?.module]).toEqual([4, 1, 4, "http"]);
    const [parse] = receive?.callees.values() ?? [];
    expect([parse?.samples, parse?.module]).toEqual([2, "plants"]);
  });

  test("draws each frame as wide as its samples, with its share, and no unescaped name", () => {
    const svg = flameGraph(mergeStacks(profile), "A & B");
    expect(svg).toContain("parse&lt;T&gt; (plants): 50.0%");
    expect(svg).toContain('width="599.5"');
    expect(svg).not.toMatch(/parse<T>|A & B/);
  });
});

test("the frames of a WAL are counted by page", () => {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-bench-test-"));
  try {
    const path = join(folder, "a.db");
    using database = new Database(path);
    database.run("PRAGMA journal_mode = WAL");
    database.run("CREATE TABLE plants (seq INTEGER PRIMARY KEY, id INTEGER UNIQUE)");
    const before = countFrames(readFileSync(`${path}-wal`), 100);
    for (const id of [1, 2]) database.run("INSERT INTO plants (id) VALUES (?)", [id]);
    const after = countFrames(readFileSync(`${path}-wal`), 100);
    // Each commit writes a leaf of the table and one of the index; both go to the same two pages.
    expect(after.frames - before.frames).toBe(4);
    expect([after.tableLeaves - before.tableLeaves, after.indexLeaves - before.indexLeaves]).toEqual([2, 2]);
    expect(after.checkpointedPages).toBe(3);
    expect(countFrames(readFileSync(`${path}-wal`), 1).checkpointedPages).toBe(after.frames);
    expect(after.bytes).toBe(after.frames * (4096 + 24));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a batch of random ids is expected to change nearly a leaf each if there are many", () => {
  expect(expectedLeaves(1, 64)).toBeCloseTo(1 / 64);
  expect(expectedLeaves(100_000, 64)).toBeGreaterThan(0.999);
});

test("the source still has what the benchmark of metrics switches", () => {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-switched-"));
  try {
    const { checkout, switchFile } = writeSwitchedCopy(folder, metricsSwitch);
    expect([...readFileSync(switchFile)]).toEqual([1]);
    for (const [file] of metricsSwitch)
      expect(readFileSync(join(checkout, "src", file), "utf8")).toContain("import { isOn }");
    expect(() => writeSwitchedCopy(folder, [["service.ts", "text that nobody wrote", ""]])).toThrow(
      'src/service.ts no longer has "text that nobody wrote"',
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
