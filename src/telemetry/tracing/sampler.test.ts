import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { sample } from "./sampler.ts";

const draws = 200_000;
const parent = (flags: string, traceId = randomBytes(16).toString("hex")) => ({
  traceId,
  spanId: "00f067aa0ba902b7",
  flags,
});

function countSampled(parentOf: () => ReturnType<typeof parent> | undefined): number {
  let count = 0;
  for (let draw = 0; draw < draws; draw++)
    if (sample({ ratio: 0.01, parentBased: false }, parentOf()) !== undefined) count++;
  return count;
}

// 2000 are expected, with a standard deviation of 44.5: six of them either way happen once in 500 million runs.
for (const [what, parentOf] of [
  ["requests without a parent", () => undefined],
  ["requests with one, whatever it chose", () => parent("00")],
] as const)
  test(`a ratio of 0.01 samples 1% of ${what}`, () => {
    const count = countSampled(parentOf);
    expect(count).toBeGreaterThan(1733);
    expect(count).toBeLessThan(2267);
  });

test("a ratio of 1 samples all, and one of 0 none", () => {
  for (let draw = 0; draw < 1000; draw++) {
    expect(sample({ ratio: 1, parentBased: false }, undefined)).toMatch(/^[0-9a-f]{14}$/);
    expect(sample({ ratio: 0, parentBased: false }, undefined)).toBeUndefined();
  }
});

test("the new trace id is one that its own ratio would sample", () => {
  for (let draw = 0; draw < 20_000; draw++) {
    const random = sample({ ratio: 0.1, parentBased: false }, undefined);
    if (random === undefined) continue;
    const child = parent("00", `0123456789abcdef01${random}`);
    expect(sample({ ratio: 0.1, parentBased: false }, child)).toBe(random);
  }
});

test("a parent decides if the sampler is parent-based", () => {
  for (const ratio of [0, 1]) {
    expect(sample({ ratio, parentBased: true }, parent("01"))).toBeDefined();
    expect(sample({ ratio, parentBased: true }, parent("00"))).toBeUndefined();
  }
});
