import { expect, test } from "bun:test";
import type { Arrival } from "../plants/plant-store.ts";
import { arrivalsFromText, arrivalsToText } from "./arrivals-text.ts";

test("plants cross between threads intact, with the trace of those that have one", () => {
  const arrivals: Arrival[] = [
    { plant: { id: -(2n ** 63n), name: "a", tag: undefined }, createdBy: "one", trace: undefined },
    { plant: { id: 2n ** 63n - 1n, name: "", tag: "b" }, createdBy: "two", trace: "00-1-2-01" },
  ];
  expect(arrivalsFromText(arrivalsToText(arrivals))).toEqual(arrivals);
});

test("every id stays exact at the limits of a JavaScript number", () => {
  const limit = 2n ** 53n;
  const ids = [0n, limit - 2n, limit - 1n, limit, limit + 1n, limit + 2n].flatMap((id) => [id, -id]);
  const arrivals = ids.map(
    (id): Arrival => ({ plant: { id, name: "fern", tag: "" }, createdBy: "one", trace: undefined }),
  );
  expect(arrivalsFromText(arrivalsToText(arrivals)).map(({ plant }) => plant.id)).toEqual(ids);
});
