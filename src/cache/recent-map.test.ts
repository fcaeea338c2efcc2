import { expect, test } from "bun:test";
import { RecentMap } from "./recent-map.ts";

test("a map holds at most its maximum, and always the half of it that was used last", () => {
  const map = new RecentMap<number, string>(8);
  for (let key = 0; key < 1000; key++) {
    map.set(key, `value ${key}`);
    // Used each time, so it is never forgotten.
    if (key % 3 === 0) expect(map.get(0)).toBe("value 0");
    const keys = new Map(map.entries());
    expect(keys.size).toBeLessThanOrEqual(8);
    expect([...keys.keys()]).toContain(0);
    for (let recent = Math.max(0, key - 2); recent <= key; recent++)
      expect(keys.get(recent)).toBe(`value ${recent}`);
  }
  expect(map.get(900)).toBeUndefined();
});

test("an entry that was changed, deleted or cleared does not come back from the old generation", () => {
  const map = new RecentMap<string, number>(4);
  for (const key of ["changed", "deleted"]) map.set(key, 1);
  map.set("changed", 2);
  map.delete("deleted");
  expect([...map.entries()]).toEqual([["changed", 2]]);
  expect(map.get("deleted")).toBeUndefined();
  map.clear();
  expect(map.get("changed")).toBeUndefined();
});
