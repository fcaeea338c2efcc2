import { describe, expect, test } from "bun:test";
import { noiseProblem, parseCpuTimes, relativeSpread } from "../bench/noise.ts";
import { benchOptions } from "../bench/options.ts";
import { verdict } from "../bench/verdict.ts";

const quiet = { others: 0.02, steal: 0, spread: 0.04 };

describe("the guard", () => {
  const good = { oneWorker: [0.95, 1.02, 0.97], allCores: [0.8, 0.9, 0.82] };
  const slow = { oneWorker: [0.5, 1.02, 0.6], allCores: [0.8, 0.9, 0.82] };

  test("passes at the floors, and fails under one", () => {
    expect(verdict(good, quiet)).toMatchObject({ exitCode: 0 });
    expect(verdict(slow, quiet)).toMatchObject({ exitCode: 1 });
    expect(verdict(slow, quiet).lines.join("\n")).toContain(
      "oneWorker: 0.60 of bare Bun.serve, floor 0.9: UNDER",
    );
  });

  test.each([
    ["others", { ...quiet, others: 0.4 }, "other processes use 40% of the processor"],
    ["steal", { ...quiet, steal: 0.12 }, "the hypervisor takes 12% of it"],
    ["spread", { ...quiet, spread: 0.31 }, "the bare server's rates differ by 31%"],
  ])("does not judge where there is too much noise: %s", (_, noise, sentence) => {
    for (const ratios of [good, slow]) {
      const { exitCode, lines } = verdict(ratios, noise);
      expect(exitCode).toBe(3);
      expect(lines.at(-1)).toContain(`The machine is too noisy to judge: ${sentence}`);
      expect(lines.join("\n")).not.toMatch(/fine|UNDER/);
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
