import { describe, expect, test } from "bun:test";
import { fakeTimers, stoppedClock } from "../../test/support/clock.ts";
import { formatProgress, type Progress, showProgress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

const importing: Progress = {
  what: "Importing plants.csv (CSV)",
  done: 82_012,
  unit: "plants",
  outcome: "82,000 created  12 refused",
  share: 0.41,
};

test("progress is narrower than the terminal: what matters least goes first", () => {
  const texts = [120, 80, 50].map((columns) => formatProgress(importing, 16_000, columns));
  expect(texts).toEqual([
    "Importing plants.csv (CSV)  [######..........]  41 %  82,000 created  12 refused  5,126/s  0:23 left",
    "Importing plants.cs…  [###.....]  41 %  82,000 created  12 refused  0:23 left",
    "41 %  82,000 created  12 refused  0:23 left",
  ]);
});

test("progress never wraps", () => {
  const what = `Importing ${"木".repeat(50)}`;
  for (let columns = 20; columns <= 120; columns++) {
    const text = formatProgress({ ...importing, what }, 16_000, columns);
    expect(Bun.stringWidth(text)).toBeLessThan(columns);
  }
});

test("progress escapes what could control the terminal", () => {
  expect(formatProgress({ ...importing, what: "Importing \u001b[2J" }, 16_000, 120)).not.toContain("\u001b");
});

describe("the line of a command on a terminal", () => {
  const checking: Progress = { what: "Checking the rows", done: 0, unit: "plants", share: undefined };

  /** What has been written to the terminal after 499 ms, after 500 ms, and after the command has ended. */
  function writtenOn(errCanRedraw: boolean): string[] {
    using timers = fakeTimers();
    using clock = stoppedClock();
    let written = "";
    const err = (text: string): void => {
      written += text;
    };
    const line = showProgress({ errCanRedraw, errColumns: 120, err } as Terminal, () => checking);
    const snapshots: string[] = [];
    for (const ms of [499, 1]) {
      clock.nowMs += ms;
      timers.advance(100);
      snapshots.push(written);
    }
    line[Symbol.dispose]();
    return [...snapshots, written];
  }

  test("that takes half a second is drawn, and erased on disposal", () => {
    const drawn = "\r\u001b[2KChecking the rows  0:01";
    expect(writtenOn(true)).toEqual(["", drawn, `${drawn}\r\u001b[2K`]);
  });

  test("is not drawn where it could not be erased", () => {
    expect(writtenOn(false)).toEqual(["", "", ""]);
  });
});
