import { expect, test } from "bun:test";
import { fakeTimers, stoppedClock } from "../../test/support/clock.ts";
import { minuteMs } from "../text/duration.ts";
import { formatProgress, type Progress, showProgress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

const importing: Progress = {
  what: "Importing plants.csv (CSV)",
  done: 82_012,
  unit: "plants",
  outcome: "82,000 created  12 refused",
  share: 0.41,
};

test.each([
  [
    120,
    "Importing plants.csv (CSV)  [######..........]  41 %  82,000 created  12 refused  5,126/s  0:23 left",
  ],
  [100, "Importing plants.csv (CSV)  [######..........]  41 %  82,000 created  12 refused  0:23 left"],
  [90, "Importing plants.csv (CSV)  [###.....]  41 %  82,000 created  12 refused  0:23 left"],
  [80, "Importing plants.cs…  [###.....]  41 %  82,000 created  12 refused  0:23 left"],
  [60, "[###.....]  41 %  82,000 created  12 refused  0:23 left"],
  [50, "41 %  82,000 created  12 refused  0:23 left"],
])("progress is narrower than a terminal of %i columns", (columns, text) => {
  expect(formatProgress(importing, 16_000, columns)).toBe(text);
});

test.each([20, 40, 60, 80, 120])("progress never wraps at %i columns", (columns) => {
  const what = `Importing ${"木".repeat(50)}`;
  const text = formatProgress({ ...importing, what }, 16_000, columns);
  expect(Bun.stringWidth(text)).toBeLessThan(columns);
});

test("progress says how long it has taken if nobody knows how much there is to do", () => {
  const piped: Progress = {
    what: "Importing standard input (NDJSON)",
    done: 7,
    unit: "plants",
    share: undefined,
  };
  expect(formatProgress(piped, 3_700_000, 120)).toBe("Importing standard input (NDJSON)  7 plants  1:01:40");
});

test("progress says nothing of the rate and the time left in the first second", () => {
  const text = formatProgress(importing, 900, 120);
  expect(text).not.toContain("/s");
  expect(text).not.toContain("left");
});

test("progress keeps the room for what is not known yet", () => {
  const copying: Progress = { what: "Copying the store", done: 20_000, unit: "plants", share: 0.02 };
  expect(formatProgress(copying, 900, 80)).toBe(
    "Copying the store  [................]   2 %     20,000 plants",
  );
  expect(formatProgress({ ...copying, done: 990_000, share: 0.99 }, 20_000, 80)).toBe(
    "Copying the store  [###############.]  99 %    990,000 plants  0:01 left",
  );
});

test("progress counts bytes", () => {
  const copying: Progress = { what: "Backing up a.db: copying", done: 31e6, unit: "bytes", share: 0.5 };
  expect(formatProgress(copying, 2000, 120)).toBe(
    "Backing up a.db: copying  [########........]  50 %  31 MB  16 MB/s  0:02 left",
  );
});

test("progress escapes what could control the terminal", () => {
  expect(formatProgress({ ...importing, what: "Importing \u001b[2J" }, 16_000, 120)).not.toContain("\u001b");
});

test("progress computes the time left from the moment when the share is known", () => {
  using timers = fakeTimers();
  using clock = stoppedClock();
  let text = "";
  const err = (drawn: string): void => {
    text = drawn;
  };
  const checking: Progress = { what: "Checking the rows", done: 0, unit: "plants", share: undefined };
  let current = checking;
  const pass = (ms: number): void => {
    clock.nowMs += ms;
    timers.advance(100);
  };
  using _shown = showProgress({ errCanRedraw: true, errColumns: 120, err } as Terminal, () => current);
  pass(minuteMs);
  expect(text).toEndWith("Checking the rows  1:00");
  current = { ...checking, share: 0 };
  pass(100);
  current = { ...checking, done: 100, share: 0.1 };
  pass(10_000);
  expect(text).toEndWith("Checking the rows  [#...............]  10 %    100 plants  10/s  1:30 left");
});
