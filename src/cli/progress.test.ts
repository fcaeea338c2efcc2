import { describe, expect, test } from "bun:test";
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

test("progress is narrower than the terminal: what matters least goes first", () => {
  const texts = [120, 100, 90, 80, 60, 50].map((columns) => formatProgress(importing, 16_000, columns));
  expect(texts).toEqual([
    "Importing plants.csv (CSV)  [######..........]  41 %  82,000 created  12 refused  5,126/s  0:23 left",
    "Importing plants.csv (CSV)  [######..........]  41 %  82,000 created  12 refused  0:23 left",
    "Importing plants.csv (CSV)  [###.....]  41 %  82,000 created  12 refused  0:23 left",
    "Importing plants.cs…  [###.....]  41 %  82,000 created  12 refused  0:23 left",
    "[###.....]  41 %  82,000 created  12 refused  0:23 left",
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

test("progress says how long it has taken if nobody knows how much there is to do", () => {
  const piped: Progress = {
    what: "Importing standard input (NDJSON)",
    done: 7,
    unit: "plants",
    share: undefined,
  };
  expect(formatProgress(piped, 3_700_000, 120)).toBe("Importing standard input (NDJSON)  7 plants  1:01:40");
});

test("progress keeps the room for what is not known yet: the rate and the time left in the first second", () => {
  const copying: Progress = { what: "Copying the store", done: 20_000, unit: "plants", share: 0.02 };
  expect(formatProgress(copying, 900, 120)).toBe(
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

describe("the line of a command on a terminal", () => {
  const checking: Progress = { what: "Checking the rows", done: 0, unit: "plants", share: undefined };

  /** Shows this progress, and what has been written to the terminal so far. Time passes by `pass`. */
  function shown(errCanRedraw = true) {
    const stack = new DisposableStack();
    const timers = stack.use(fakeTimers());
    const clock = stack.use(stoppedClock());
    let written = "";
    const err = (text: string): void => {
      written += text;
    };
    let current = checking;
    const line = showProgress({ errCanRedraw, errColumns: 120, err } as Terminal, () => current);
    return {
      line,
      written: () => written,
      /** Sets the progress, if it is there, after this time. */
      pass(ms: number, progress = current) {
        current = progress;
        clock.nowMs += ms;
        timers.advance(100);
      },
      [Symbol.dispose]: () => stack.dispose(),
    };
  }

  test("that takes half a second is drawn, and erased on disposal", () => {
    using progress = shown();
    progress.pass(499);
    expect(progress.written()).toBe("");
    progress.pass(1);
    expect(progress.written()).toBe("\r\u001b[2KChecking the rows  0:01");
    progress.line[Symbol.dispose]();
    expect(progress.written()).toEndWith("0:01\r\u001b[2K");
  });

  test("that ends sooner leaves nothing there", () => {
    using progress = shown();
    progress.pass(499);
    progress.line[Symbol.dispose]();
    progress.pass(1000);
    expect(progress.written()).toBe("");
  });

  test("is not drawn where it could not be erased", () => {
    using progress = shown(false);
    progress.pass(1000);
    progress.line[Symbol.dispose]();
    expect(progress.written()).toBe("");
  });

  test("has the time left from the moment when the share is known", () => {
    using progress = shown();
    progress.pass(minuteMs);
    expect(progress.written()).toEndWith("Checking the rows  1:00");
    progress.pass(100, { ...checking, share: 0 });
    progress.pass(10_000, { ...checking, done: 100, share: 0.1 });
    expect(progress.written()).toEndWith(
      "Checking the rows  [#...............]  10 %    100 plants  10/s  1:30 left",
    );
    progress.line[Symbol.dispose]();
  });
});
