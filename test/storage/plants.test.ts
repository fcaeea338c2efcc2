// Sizes of plants that every store accepts, on each engine: what the short texts of the model (model.test.ts) do not reach.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import type { PlantToStore } from "../../src/plants/plant-store.ts";
import type { Store } from "../../src/storage/store.ts";
import { onEveryEngine } from "../support/engines.ts";
import { openNewStore, pageRequest } from "../support/open-engine-store.ts";
import { kindsOf, testPlant } from "../support/stored-plants.ts";

onEveryEngine((engine) => {
  describe("plants", () => {
    // One store for all of them: each test uses ids of its own.
    let store: Store;
    beforeAll(async () => {
      store = await openNewStore(engine);
    });
    afterAll(() => store[Symbol.asyncDispose]());

    test("as large as a body may be are stored in any number, in order", async () => {
      const large = Array.from({ length: 80 }, (_, id) => testPlant(id, `${id} ${"x".repeat(60_000)}`));
      const first = large[0] as PlantToStore;
      const last = large[79] as PlantToStore;
      const kinds = kindsOf(await store.plants.create([...large, first, testPlant(79, "other")], 1));
      expect(kinds).toEqual([...Array(80).fill("created"), "replayed", "conflict"]);
      expect(await store.archive.findAll([79n])).toMatchObject([last.plant]);
    });

    test("with a tag of any length are stored and found by it", async () => {
      // Random, so that no engine can compress it below one of its limits.
      const randomText = (length: number) => randomBytes(length / 2).toString("hex");
      const sizes: [name: string, tag: string][] = [
        ["a", randomText(65_000)],
        [randomText(65_000), randomText(10)],
        ["c", randomText(2700)],
        ["d", "🌱".repeat(16_000)],
      ];
      const plants = sizes.map(([name, tag], index) => testPlant(1000 + index, name, { tag }));
      expect(kindsOf(await store.plants.create(plants, 1))).toEqual(sizes.map(() => "created"));
      for (const { plant } of plants) {
        const page = await store.archive.page(pageRequest({ filter: { tag: plant.tag } }));
        expect(page.plants).toMatchObject([plant]);
      }
    });
  });
});
