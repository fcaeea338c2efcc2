import { expect, test } from "bun:test";
import type { Arrival } from "../plants/plant-store.ts";
import { arrivalsFromText, arrivalsToText } from "./arrivals-text.ts";

test("plants cross between threads intact, with the trace of those that have one", () => {
  const arrivals: Arrival[] = [
    { plant: { id: -(2n ** 63n), name: "a", tag: undefined }, createdBy: "one", trace: undefined },
    { plant: { id: 2n ** 63n - 1n, name: "", tag: "b" }, createdBy: "two", trace: "00-1-2-01" },
  ];
  expect(arrivalsFromText(arrivalsToText(arrivals))).toEqual(arrivals);
  expect(arrivalsToText(arrivals.slice(0, 1))).toBe('[["-9223372036854775808","a",null,"one"]]');
});
