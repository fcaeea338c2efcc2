import { expect, test } from "bun:test";
import { Senders } from "./senders.ts";

test("a sender has the time of its last plant, if it has sent one, and the number of its refusals", () => {
  const senders = new Senders();
  senders.stored(["greenhouse", "nursery"], 1);
  senders.refused("greenhouse", 2);
  senders.refused("greenhouse", 3);
  senders.stored(["greenhouse"], 4);
  senders.refused("stranger", 5);
  expect(senders.list()).toEqual([
    { name: "greenhouse", lastPlantAtMs: 4, refusals: 2, lastRefusalAtMs: 3 },
    { name: "nursery", lastPlantAtMs: 1, refusals: 0, lastRefusalAtMs: undefined },
    { name: "stranger", lastPlantAtMs: undefined, refusals: 1, lastRefusalAtMs: 5 },
  ]);
});

test("the thousand that sent last are known, however many there are", () => {
  const senders = new Senders();
  for (let atMs = 0; atMs < 10_000; atMs++) senders.stored([`caller ${atMs}`, "steady"], atMs);
  const listed = senders.list();
  expect(listed.length).toBeLessThanOrEqual(2000);
  expect(listed.filter(({ lastPlantAtMs }) => (lastPlantAtMs ?? 0) >= 9001)).toHaveLength(1000);
});
