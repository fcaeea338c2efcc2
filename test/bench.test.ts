import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { benchOptions } from "../bench/options.ts";
import { table, withSection } from "../bench/page.ts";
import { medianInterval, parseCpuTimes, RepeatedWhereStolen } from "../bench/statistics.ts";

test.each([
  [6, [1, 6]],
  [10, [2, 9]],
  [30, [10, 21]],
  [3, [1, 3]],
])("the 95%% interval of the median of %i values is between ranks %j", (count, ranks) => {
  const values = Array.from({ length: count }, (_, index) => count - index);
  expect(medianInterval(values)).toEqual(ranks as [number, number]);
});

test("steal time is read from /proc/stat", () => {
  const text = "cpu  10 20 30 400 50 6 7 80 1 2\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
  expect(parseCpuTimes(text)).toEqual({ total: 603, steal: 80 });
});

test("a measurement is repeated if the hypervisor took too much, a limited number of times in a run", async () => {
  const steals = [20, 20, 0, 20, 20];
  let times = { total: 0, steal: 0 };
  let measured = 0;
  const measure = async (): Promise<number> => {
    times = { total: times.total + 100, steal: times.steal + (steals[measured] ?? 0) };
    return ++measured;
  };
  const told: string[] = [];
  const repeated = new RepeatedWhereStolen(
    3,
    () => times,
    (line) => told.push(line),
  );
  expect(await repeated.run(measure)).toBe(3);
  expect(await repeated.run(measure)).toBe(5);
  expect(told).toEqual(Array(3).fill("again: the hypervisor took 20% of the processor"));
});

test("nothing is written unless asked for, and never after a quick run", () => {
  const none = { rounds: 5, write: false, quick: false, positional: [] };
  expect(benchOptions([], 5)).toEqual(none);
  expect(benchOptions(["free", "--write"], 5)).toEqual({ ...none, write: true, positional: ["free"] });
  expect(benchOptions(["--quick"], 5)).toEqual({ ...none, quick: true, rounds: 1 });
  for (const args of [["--quick", "--write"], ["--wirte"], ["--rounds", "0"], ["--rounds", "x"]])
    expect(() => benchOptions(args, 5)).toThrow();
});

test("a section of a page is replaced, and the rest stays as it is", () => {
  const page = "# Title\n\n<!-- a -->\nold\n<!-- /a -->\n\nbetween\n\n<!-- b -->\n<!-- /b -->\n";
  expect(withSection(page, "a", (old) => `${old}new`)).toBe(page.replace("old", "old\nnew"));
  expect(withSection(page, "b", () => table(["x", "#y"], [["1", 2]]))).toContain(
    "<!-- b -->\n| x | y |\n| --- | ---: |\n| 1 | 2 |\n<!-- /b -->",
  );
  expect(() => withSection(page, "c", () => "")).toThrow("<!-- c -->");
});

test.each([
  ["benchmarks.md", ["creates", "creates-cases", "operator"]],
  ["scaling.md", ["postgres"]],
  ["reliability.md", ["soaks"]],
])("docs/%s has the sections that a run may write", (name, sections) => {
  const page = readFileSync(join(import.meta.dir, "../docs", name), "utf8");
  for (const section of sections) expect(() => withSection(page, section, () => "")).not.toThrow();
});
