import { expect, test } from "bun:test";
import type { Arrival } from "../plants/plant-store.ts";
import { arrivalsFromText, arrivalsToText } from "./arrivals-text.ts";

test("plants cross between threads intact", () => {
  const arrivals: Arrival[] = [
    { plant: { id: -(2n ** 63n), name: "a", tag: undefined }, createdBy: "one" },
    { plant: { id: 2n ** 63n - 1n, name: "", tag: "b" }, createdBy: "two" },
  ];
  expect(arrivalsFromText(arrivalsToText(arrivals))).toEqual(arrivals);
});

test("every id stays exact at the limits of a JavaScript number", () => {
  const limit = 2n ** 53n;
  const ids = [0n, limit - 2n, limit - 1n, limit, limit + 1n, limit + 2n].flatMap((id) => [id, -id]);
  const arrivals = ids.map((id): Arrival => ({ plant: { id, name: "fern", tag: "" }, createdBy: "one" }));
  expect(arrivalsFromText(arrivalsToText(arrivals)).map(({ plant }) => plant.id)).toEqual(ids);
});
