import { expect, test } from "bun:test";
import { Counters } from "./counters.ts";
import { createEvents } from "./events.ts";
import { createLog } from "./log.ts";

const answered = {
  "plant_store.request_id": "r",
  "error.type": "40002",
};

for (const [event, more] of [
  ["refused", "more requests were refused than are logged"],
  ["failed", "more requests failed than are logged"],
] as const) {
  test(`a flood of ${event} requests is logged in 20 lines per second, and the rest is counted`, () => {
    const lines: Record<string, unknown>[] = [];
    const write = (line: string) => lines.push(JSON.parse(line));
    const log = createLog({ level: "debug", format: "json", colour: false, write });
    let nowMs = 0;
    const events = createEvents(log, new Counters(), () => nowMs);
    let asked = 0;
    const fields = () => {
      asked++;
      return answered;
    };
    for (; nowMs < 1000; nowMs += 10) events[event](fields);
    expect(lines).toHaveLength(20);
    expect(asked).toBe(20);
    expect(lines.every(({ message }) => message === event)).toBe(true);
    for (let count = 0; count < 100; count++) events[event](() => answered);
    expect(lines).toHaveLength(41);
    expect(lines[20]).toMatchObject({ message: more, "plant_store.unlogged": 80 });
    expect(lines[21]).toMatchObject({ message: event, ...answered });
  });
}

test("a flood of internal errors is logged in 20 lines per second", () => {
  const lines: string[] = [];
  const log = createLog({
    level: "debug",
    format: "json",
    colour: false,
    write: (line) => void lines.push(line),
  });
  const events = createEvents(log, new Counters(), () => 0);
  for (let count = 0; count < 100; count++)
    events.internalError(() => answered, new Error("the database refused it"));
  expect(lines).toHaveLength(20);
});

test("the log says which connection was closed at the limit", () => {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => lines.push(JSON.parse(line));
  const log = createLog({ level: "debug", format: "json", colour: false, write });
  let nowMs = 0;
  const events = createEvents(log, new Counters(), () => nowMs);
  events.connectionLimitReached("longest-idle");
  nowMs = 1000;
  events.connectionLimitReached("newest");
  expect(lines.map(({ message }) => message)).toEqual([
    "the connection limit is reached; the longest idle connection was closed",
    "the connection limit is reached and none is idle; the new connection was closed",
  ]);
});

test("an fsync of the WAL that took over a second is logged as a stall; a slow one of the data file is not", () => {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => lines.push(JSON.parse(line));
  const log = createLog({ level: "debug", format: "json", colour: false, write });
  const events = createEvents(log, new Counters(), () => 0);
  events.synced("wal", 999);
  events.synced("data", 5000);
  expect(lines).toEqual([]);
  events.synced("wal", 2540);
  expect(lines).toMatchObject([
    { message: "the disk stalled; creates waited until it recovered", "plant_store.seconds": 2.5 },
  ]);
});
