import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { withSection } from "../bench/page.ts";
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

test.each([
  ["benchmarks.md", ["creates", "creates-cases", "operator"]],
  ["scaling.md", ["postgres"]],
  ["reliability.md", ["soaks"]],
])("docs/%s has the sections that a run may write", (name, sections) => {
  const page = readFileSync(join(import.meta.dir, "../docs", name), "utf8");
  for (const section of sections) expect(() => withSection(page, section, () => "")).not.toThrow();
});
