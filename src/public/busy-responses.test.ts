import { expect, test } from "bun:test";
import { fakeTimers } from "../../test/support/clock.ts";
import { fake } from "../../test/support/fake.ts";
import type { Exchange } from "../http/exchange.ts";
import { BusyResponses } from "./busy-responses.ts";

/** Sends refusals with the numbers from `first` on; `answered` has the numbers of those that were sent. */
function start() {
  const busyResponses = new BusyResponses();
  const answered: number[] = [];
  const send = (first: number, count: number): void => {
    for (let number = first; number < first + count; number++)
      busyResponses.send(fake<Exchange>({ respondError: () => void answered.push(number) }));
  };
  return { answered, send };
}

test("20 refusals are sent immediately, and 20 more in each tick of 10 ms, in order", () => {
  using timers = fakeTimers();
  const { answered, send } = start();
  send(0, 50);
  expect(answered.length).toBe(20);
  timers.advance(10);
  expect(answered.length).toBe(40);
  timers.advance(10);
  expect(answered).toEqual(Array.from({ length: 50 }, (_, number) => number));
  // What a tick leaves of its share is used by the next refusals.
  send(50, 15);
  expect(answered.length).toBe(60);
});

test("the timer ends once nothing waits", () => {
  using timers = fakeTimers();
  const { answered, send } = start();
  send(0, 50);
  timers.advance(40);
  expect(answered.length).toBe(50);
  expect(timers.pending()).toBe(0);
});

test("a refusal that throws does not keep those after it from being sent", () => {
  using timers = fakeTimers();
  const busyResponses = new BusyResponses();
  const answered: number[] = [];
  const thrown: unknown[] = [];
  const failure = new Error("not sent");
  for (let number = 0; number < 40; number++) {
    const respondError = () => {
      if (number === 25) throw failure;
      answered.push(number);
    };
    busyResponses.send(fake<Exchange>({ respondError, respondToThrown: (error) => void thrown.push(error) }));
  }
  timers.advance(10);
  expect(answered.length).toBe(39);
  expect(thrown).toEqual([failure]);
});
