import { expect, test } from "bun:test";
import { fakeTimers, stoppedClock } from "../../test/support/clock.ts";
import { fake } from "../../test/support/fake.ts";
import { formatProgress, type Progress, showProgress } from "./progress.ts";
import { type Process, terminalOf } from "./terminal.ts";

const importing: Progress = {
  what: "importing plants.csv",
  share: 0.41,
  outcome: "82,000 created  12 refused  5,126/s",
};

test("progress says what is done, the share, the time left and the outcome", () => {
  expect(formatProgress(importing, 16_000, 80)).toBe(
    "Importing plants.csv  41 %  0:23 left  82,000 created  12 refused  5,126/s",
  );
});

test("progress never wraps", () => {
  const what = `importing ${"木".repeat(50)}\u001b[2J`;
  for (let columns = 20; columns <= 120; columns++) {
    const text = formatProgress({ ...importing, what }, 16_000, columns);
    expect(Bun.stringWidth(text)).toBeLessThan(columns);
    expect(text).not.toContain("\u001b");
  }
});

/** What has been written to the terminal after 499 ms, 500 ms, a message, and the end of the command. */
function writtenOn(errCanRedraw: boolean): string[] {
  using timers = fakeTimers();
  using clock = stoppedClock();
  let written = "";
  const err = (text: string): void => {
    written += text;
  };
  const terminal = terminalOf(fake<Process>({ errCanRedraw, errIsTerminal: true, errColumns: 80, err }));
  const line = showProgress(terminal, () => ({ what: "checking", share: undefined, outcome: "" }), {
    next: "",
  });
  const snapshots: string[] = [];
  const take = (): void => {
    snapshots.push(written);
    written = "";
  };
  for (const ms of [499, 1]) {
    clock.nowMs += ms;
    timers.advance(100);
    take();
  }
  terminal.err("Note.\n");
  take();
  line[Symbol.dispose]();
  take();
  return snapshots;
}

test("a line is drawn after half a second, and erased before a message and at the end", () => {
  const erased = "\r\u001b[2K";
  expect(writtenOn(true)).toEqual(["", `${erased}Checking`, `${erased}Note.\n`, ""]);
});

test("no line is drawn where it could not be erased", () => {
  expect(writtenOn(false)).toEqual(["", "", "Note.\n", ""]);
});
