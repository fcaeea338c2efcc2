import { expect, test } from "bun:test";
import { Counters, RecentRefusals } from "./counters.ts";

test("counts add up, far beyond 32 bits; a gauge has its last value, and what was never counted is 0", () => {
  const counters = new Counters();
  counters.add("created", 2 ** 52);
  counters.add("created");
  counters.set("open", 5);
  counters.set("open", 3);
  const values = ["created", "open", "unknown"].map((name) => counters.value(name));
  expect(values).toEqual([2 ** 52 + 1, 3, 0]);
});

test("a histogram has cumulative buckets with inclusive bounds, and is the same for everyone who asks", () => {
  const counters = new Counters();
  for (const plants of [1, 2, 3, 4000]) counters.histogram("batch-plants").observe(plants);
  const { buckets, sum, count } = counters.histogram("batch-plants").observed();
  expect(buckets.slice(0, 3).flat()).toEqual([1, 1, 2, 2, 5, 3]);
  expect([buckets.at(-1), sum, count]).toEqual([[1000, 3], 4006, 4]);
});

test("refusals are counted by minute and by hour, for seven days", () => {
  const [minuteMs, hourMs] = [60_000, 3_600_000];
  const startMs = Date.UTC(2026, 10, 15, 18);
  const refusals = new RecentRefusals();
  for (const atMs of [0, 59_999, minuteMs, hourMs]) refusals.add(startMs + atMs);
  expect(refusals.counts(startMs - minuteMs, 4, minuteMs)).toEqual([0, 2, 1, 0]);
  expect(refusals.counts(startMs - hourMs, 4, hourMs)).toEqual([0, 3, 1, 0]);
  for (let hour = 1; hour <= 168; hour++)
    for (let atMs = 0; atMs < hourMs; atMs += minuteMs) refusals.add(startMs + hour * hourMs + atMs);
  expect(refusals.counts(startMs, 169, hourMs)).toEqual([0, 61, ...Array(167).fill(60)]);
});
