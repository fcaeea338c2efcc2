import { expect, test } from "bun:test";
import type { Caller } from "../access/gate.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";

const callerNamed = (name: string): Caller => ({ name, scopes: [], expiresAtMs: undefined });
const one = callerNamed("one");

test("one caller gets no more than half of the limit, and the others no more than the rest", () => {
  const limit = new ConcurrencyLimit("exports", 4);
  limit.acquire(one);
  limit.acquire(one);
  expect(() => limit.acquire(one)).toThrow("This token already has 2 exports running");
  for (const name of ["two", "three"]) limit.acquire(callerNamed(name));
  expect(() => limit.acquire(callerNamed("four"))).toThrow("4 exports are already running");
});

test("an operation that has ended counts no longer towards the limit", () => {
  const limit = new ConcurrencyLimit("exports", 4);
  for (let turn = 0; turn < 10; turn++) {
    using _first = limit.acquire(one);
    using _second = limit.acquire(one);
  }
  expect(() => limit.acquire(one)).not.toThrow();
});
