import { expect, test } from "bun:test";
import { Observable } from "./observable.ts";

class Counter extends Observable {
  count = 0;

  increment(): void {
    this.count++;
    this.notify();
  }
}

test("everyone who follows a model is called back after each change", () => {
  const counter = new Counter();
  const one: number[] = [];
  const other: number[] = [];
  counter.subscribe(() => one.push(counter.count));
  counter.increment();
  counter.subscribe(() => other.push(counter.count));
  counter.increment();
  expect(one).toEqual([1, 2]);
  expect(other).toEqual([2]);
});

test("whoever no longer follows a model is not called back, even if that is decided during a call", () => {
  const counter = new Counter();
  const seen: number[] = [];
  const unsubscribe = counter.subscribe(() => {
    seen.push(counter.count);
    unsubscribe();
  });
  counter.increment();
  counter.increment();
  expect(seen).toEqual([1]);
});
