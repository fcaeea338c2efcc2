import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { fake } from "../../test/support/fake.ts";
import type { Exchange } from "../http/exchange.ts";
import { BusyResponses } from "./busy-responses.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Sends refusals with the numbers from `first` on; `answered` has the numbers of those that were sent. */
function start() {
  const busyResponses = new BusyResponses();
  const answered: number[] = [];
  const send = (first: number, count: number): void => {
    for (let number = first; number < first + count; number++)
      busyResponses.send(fake<Exchange>({ error: () => void answered.push(number) }));
  };
  return { answered, send };
}

test("20 refusals are sent immediately, and 20 more with each tick of 10 ms", () => {
  const { answered, send } = start();
  send(0, 50);
  expect(answered.length).toBe(20);
  jest.advanceTimersByTime(10);
  expect(answered.length).toBe(40);
  jest.advanceTimersByTime(10);
  expect(answered.length).toBe(50);
});

test("refusals are sent in order", () => {
  const { answered, send } = start();
  send(0, 50);
  jest.advanceTimersByTime(20);
  expect(answered).toEqual(Array.from({ length: 50 }, (_, number) => number));
});

test("what a tick leaves of its share is used by the next refusals", () => {
  const { answered, send } = start();
  send(0, 50);
  jest.advanceTimersByTime(20);
  send(50, 15);
  expect(answered.length).toBe(60);
});

test("the timer ends once nothing waits", () => {
  const { answered, send } = start();
  send(0, 50);
  jest.advanceTimersByTime(40);
  expect(answered.length).toBe(50);
  expect(jest.getTimerCount()).toBe(0);
});
