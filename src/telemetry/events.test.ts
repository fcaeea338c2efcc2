import { expect, test } from "bun:test";
import { Counters } from "./counters.ts";
import { createEvents } from "./events.ts";
import { createLog } from "./log.ts";

/** Events at a time that the test sets, and the lines that they log. */
function start() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const log = createLog({ level: "debug", format: "json", colour: false, write });
  const clock = { nowMs: 0 };
  return { lines, clock, events: createEvents(log, new Counters(), () => clock.nowMs) };
}

test.each([
  ["refused", "refused", "more requests were refused than are logged"],
  ["failed", "failed", "more requests failed than are logged"],
  ["internalError", "internal error", "more requests failed than are logged"],
] as const)(
  "a flood of %s requests is logged in 20 lines per second, and the rest is counted",
  (event, message, more) => {
    const { lines, clock, events } = start();
    let asked = 0;
    const fields = () => {
      asked++;
      return { "error.type": "40002" };
    };
    for (; clock.nowMs < 1000; clock.nowMs += 10) events[event](fields, new Error("refused"));
    expect([lines.length, asked]).toEqual([20, 20]);
    for (let count = 0; count < 100; count++) events[event](fields, new Error("refused"));
    expect(lines).toHaveLength(41);
    expect(lines[20]).toMatchObject({ message: more, "plant_store.unlogged": 80 });
    expect(lines[21]).toMatchObject({ message, "error.type": "40002" });
  },
);

test("the log says which connection was closed at the limit", () => {
  const { lines, clock, events } = start();
  events.connectionLimitReached("longest-idle");
  clock.nowMs = 1000;
  events.connectionLimitReached("newest");
  expect(lines.map(({ message }) => message)).toEqual([
    "the connection limit is reached; the longest idle connection was closed",
    "the connection limit is reached and none is idle; the new connection was closed",
  ]);
});

test("an fsync of the WAL that took over a second is logged as a stall; a slow one of the data file is not", () => {
  const { lines, events } = start();
  events.synced("wal", 999);
  events.synced("data", 5000);
  expect(lines).toEqual([]);
  events.synced("wal", 2540);
  expect(lines).toMatchObject([
    { message: "the disk stalled; creates waited until it recovered", "plant_store.seconds": 2.5 },
  ]);
});
