import { expect, test } from "bun:test";
import { Observable } from "./observable.ts";

class Counter extends Observable {
  count = 0;

  increment(): void {
    this.count++;
    this.notify();
  }
}

test("a model calls back everyone who follows it, and nobody who no longer does", () => {
  const counter = new Counter();
  const one: number[] = [];
  const other: number[] = [];
  counter.subscribe(() => one.push(counter.count));
  counter.increment();
  const unsubscribe = counter.subscribe(() => {
    other.push(counter.count);
    unsubscribe();
  });
  counter.increment();
  counter.increment();
  expect(one).toEqual([1, 2, 3]);
  expect(other).toEqual([2]);
});
