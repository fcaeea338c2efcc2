import { expect, test } from "bun:test";
import { Ticks } from "./ticks.ts";

test("a tick settles the time before it, less half a second, once no older transaction runs", () => {
  const ticks = new Ticks();
  ticks.add({ timeMs: 10_000, transactionId: 5n });
  expect(ticks.confirm(4n)).toBeUndefined();
  expect(ticks.confirm(5n)).toBe(9500);
});

test("the settled time never goes back, even if the server's clock does", () => {
  const ticks = new Ticks();
  ticks.add({ timeMs: 10_000, transactionId: 5n });
  ticks.confirm(5n);
  ticks.add({ timeMs: 4000, transactionId: 6n });
  expect(ticks.confirm(6n)).toBe(9500);
});

test.each([
  ["20 s", 80, 60_000],
  ["a minute, from more ticks ago than are kept,", 240, 120_000],
])("transactions of %s that overlap do not keep the time from settling", (_, ticksOpen, behindMsMax) => {
  const ticks = new Ticks();
  let settledMs: number | undefined;
  for (let index = 0; index < 1000; index++) {
    ticks.add({ timeMs: index * 250, transactionId: BigInt(index + 1) });
    settledMs = ticks.confirm(BigInt(index + 1 - ticksOpen));
  }
  // Of the ticks that wait, the older ones are thinned out.
  expect(settledMs).toBeGreaterThan(1000 * 250 - behindMsMax);
});

test("ids from before a crash, which are assigned again, are waited for", () => {
  const ticks = new Ticks();
  ticks.add({ timeMs: 1000, transactionId: 1000n });
  expect(ticks.confirm(990n)).toBeUndefined();
  ticks.add({ timeMs: 3000, transactionId: 991n });
  expect(ticks.confirm(992n)).toBe(2500);
});
