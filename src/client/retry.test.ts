import { afterEach, expect, setSystemTime, test } from "bun:test";
import { Retries } from "./retry.ts";

afterEach(() => {
  setSystemTime();
});

test("a clock that is set back does not prolong the retries of a rate-limited plant", async () => {
  const retries = new Retries({ attemptsMax: 1, backoffMs: 0, backoffMsMax: 0, patienceMs: 20 });
  expect(retries.nextDelayMs(429, null)).toBe(0);
  setSystemTime(new Date(Date.now() - 3_600_000));
  await Bun.sleep(40);
  expect(retries.nextDelayMs(429, null)).toBeUndefined();
});
