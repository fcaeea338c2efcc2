import { expect, test } from "bun:test";
import { hourMs, minuteMs } from "../text/duration.ts";
import { RecentRefusals } from "./recent-refusals.ts";

const startMs = Date.UTC(2026, 10, 15, 18);

test("refusals are counted by minute and by hour", () => {
  const refusals = new RecentRefusals();
  for (const atMs of [0, 59_999, minuteMs, hourMs]) refusals.add(startMs + atMs);
  expect(refusals.counts(startMs - minuteMs, 4, minuteMs)).toEqual([0, 2, 1, 0]);
  expect(refusals.counts(startMs - hourMs, 4, hourMs)).toEqual([0, 3, 1, 0]);
});

test("refusals are counted for seven days", () => {
  const refusals = new RecentRefusals();
  for (let hour = 0; hour <= 168; hour++)
    for (let atMs = 0; atMs < hourMs; atMs += minuteMs) refusals.add(startMs + hour * hourMs + atMs);
  expect(refusals.counts(startMs, 169, hourMs)).toEqual([0, ...Array(168).fill(60)]);
});

test("the refusals of the last 60 seconds are counted to the second", () => {
  const refusals = new RecentRefusals();
  for (const second of [0, 0, 30, 59]) refusals.add(startMs + second * 1000);
  const countAt = (second: number) => refusals.inLastMinute(startMs + second * 1000);
  expect([59, 60, 89, 90, 118, 119].map(countAt)).toEqual([4, 2, 2, 1, 1, 0]);
  refusals.add(startMs + 120_000);
  expect(countAt(120)).toBe(1);
  expect(refusals.total).toBe(5);
});
