import { expect, test } from "bun:test";
import { createEvents } from "./events.ts";
import { createLog, type Level } from "./log.ts";
import { Metrics } from "./metrics.ts";

/** Events at a time that the test sets, and the lines that they log. */
function start(level: Level = "debug") {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const log = createLog({ level, format: "json", hasColour: false, isForJournal: false, write });
  const clock = { nowMs: 0 };
  const metrics = new Metrics();
  return { lines, clock, metrics, events: createEvents(log, metrics, () => clock.nowMs) };
}

test.each([
  ["refused", "info", "more requests were refused than are logged"],
  ["failed", "warn", "more requests failed than are logged"],
  ["internalError", "error", "there were more internal errors than are logged"],
] as const)(
  "a flood of %s is logged in 20 lines per second, after the number of those that were not",
  (event, level, message) => {
    const { lines, clock, events } = start();
    const fields = () => ({ "error.type": "40002" });
    for (; clock.nowMs < 1000; clock.nowMs += 10) events[event](fields, new Error("refused"));
    expect(lines).toHaveLength(20);
    for (let count = 0; count < 100; count++) events[event](fields, new Error("refused"));
    expect(lines).toHaveLength(41);
    expect(lines[20]).toMatchObject({ level, message, "plant_store.unlogged": 80 });
    expect(lines[21]).toMatchObject(fields());
  },
);

test("where refusals are not logged, neither is the number of those without a line", () => {
  const { lines, clock, events } = start("warn");
  for (let count = 0; count < 100; count++) events.refused(() => ({}));
  clock.nowMs += 1000;
  events.refused(() => ({}));
  expect(lines).toEqual([]);
});

test("connections closed at the limit are logged once per second, and counted by their reason", () => {
  const { lines, metrics, events } = start();
  for (const reason of ["idle", "idle", "stranger"] as const) events.connectionLimitReached(reason);
  expect(lines).toHaveLength(1);
  expect(metrics.format()).toContain("plant_store_idle_connections_closed_total 2\n");
  expect(metrics.format()).toContain('plant_store_connections_closed_at_limit_total{reason="stranger"} 1\n');
});

test("an event that is only logged has the message and the fields of its row", () => {
  const { lines, events } = start();
  events.diskRecovered(2540);
  events.stopped("sqlite");
  // Whether its disk has them is up to the database's own settings.
  events.stopped("postgres");
  expect(lines).toMatchObject([
    {
      level: "warn",
      message: "the disk stalled; creates waited until it recovered",
      "plant_store.seconds": 2.5,
    },
    { level: "info", message: "stopped; every acknowledged plant is on disk" },
    { message: "stopped; every acknowledged plant is stored" },
  ]);
});
