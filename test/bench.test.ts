import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { benchOptions } from "../bench/options.ts";
import { table, withSection } from "../bench/page.ts";
import { medianInterval } from "../bench/statistics.ts";

test.each([
  [6, [1, 6]],
  [10, [2, 9]],
  [30, [10, 21]],
  [3, [1, 3]],
])("the 95%% interval of the median of %i values is between ranks %j", (count, ranks) => {
  const values = Array.from({ length: count }, (_, index) => count - index);
  expect(medianInterval(values)).toEqual(ranks as [number, number]);
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
