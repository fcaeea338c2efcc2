import { expect, test } from "bun:test";
import { progressLine } from "./report.ts";

const half = { sizeBytes: 1000, readBytes: 500 };
const tally = { rows: 1_234_567, refused: 0, seconds: 61, rowsPerSecond: 20_239 };

test("the progress line has the percentage, rows, rate and time left", () => {
  expect(progressLine({ colourErr: false, errColumns: 100 }, half, tally)).toBe(
    `${"█".repeat(12)}${"░".repeat(12)}  50%  1,234,567 rows  20,239/s  1:01 left`,
  );
});

test("it counts refused rows, and has no percentage if the size is unknown", () => {
  const line = progressLine(
    { colourErr: false, errColumns: 100 },
    { sizeBytes: undefined, readBytes: 5 },
    { rows: 10, refused: 3, seconds: 1, rowsPerSecond: 10 },
  );
  expect(line).toBe("10 rows  3 refused  10/s");
});

test("it has colour only if enabled, and is never wider than the terminal", () => {
  expect(progressLine({ colourErr: true, errColumns: 100 }, half, tally)).toContain("\u001b[32m");
  for (const errColumns of [20, 40, 60]) {
    const line = progressLine({ colourErr: false, errColumns }, half, tally);
    expect(line.length).toBeLessThan(errColumns);
    expect(line).toStartWith("50%  1,2");
  }
});
