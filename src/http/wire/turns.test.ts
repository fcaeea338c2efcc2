import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Turns } from "./turns.ts";

test("what arrives after 1,024 arrivals in one turn of the event loop waits for the next", async () => {
  const turns = new Turns();
  const allowed: boolean[] = [];
  for (let arrival = 1; arrival <= 1100; arrival++) allowed.push(turns.countArrival());
  expect(allowed.indexOf(false)).toBe(1024);
  await nextTurn();
  expect(turns.countArrival()).toBe(true);
});

test("arrivals of several turns are not added up", async () => {
  const turns = new Turns();
  for (let turn = 0; turn < 10; turn++) {
    for (let arrival = 0; arrival < 500; arrival++) expect(turns.countArrival()).toBe(true);
    await nextTurn();
  }
});

test("at most 256 connections that wait get their turn in one turn of the event loop", async () => {
  const turns = new Turns();
  let taken = 0;
  const takeTurn = () => taken++;
  for (let connection = 0; connection < 600; connection++) turns.wait({ takeTurn });
  await nextTurn();
  expect(taken).toBe(256);
});
