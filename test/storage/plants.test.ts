// What every store does with plants, on each engine: replays, conflicts, extreme ids, texts and sizes.
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
    let lastId = 0n;
    beforeAll(async () => {
      store = await openNewStore(engine);
    });
    afterAll(() => store[Symbol.asyncDispose]());

    function newId(): bigint {
      lastId += 1n;
      return lastId;
    }

    test("in one batch are processed in order: the first with an id wins", async () => {
      const first = newId();
      const second = newId();
      const batch = [
        testPlant(second, "a"),
        testPlant(first, "b", { tag: "t" }),
        testPlant(second, "a"),
        testPlant(second, "c", { tag: "t" }),
      ];
      expect(await store.plants.create(batch, 1)).toEqual([
        { kind: "created" },
        { kind: "created" },
        { kind: "replayed" },
        { kind: "conflict", differing: ["name", "tag"] },
      ]);
      expect(await store.archive.find(second)).toMatchObject({ name: "a", tag: undefined });
    });

    test("of an earlier batch win over those of a later one", async () => {
      const stored = newId();
      const tagged = newId();
      const added = newId();
      await store.plants.create([testPlant(stored, "a"), testPlant(tagged, "b", { tag: "t" })], 1);
      const later = [
        testPlant(stored, "c"),
        testPlant(added, "d"),
        testPlant(tagged, "b", { tag: "t" }),
        testPlant(added, "d"),
      ];
      expect(kindsOf(await store.plants.create(later, 2))).toEqual([
        "conflict",
        "created",
        "replayed",
        "replayed",
      ]);
      expect((await store.archive.find(stored))?.name).toBe("a");
    });

    test("are counted once for each id", async () => {
      await using counted = await openNewStore(engine);
      const batch = [testPlant(1, "a"), testPlant(2, "b"), testPlant(1, "a"), testPlant(2, "c")];
      await counted.plants.create(batch, 1);
      expect(await counted.archive.total()).toBe(2);
    });

    test("are not counted by a probe", async () => {
      await using counted = await openNewStore(engine);
      await counted.plants.create([testPlant(1, "a")], 1);
      await counted.plants.probe();
      expect(await counted.archive.total()).toBe(1);
    });

    const extremes = ["-9223372036854775808", "9223372036854775807", "9007199254740992", "9007199254740993"];
    test.each(extremes)("are found with everything that was stored under the id %s", async (digits) => {
      const id = BigInt(digits);
      const named = testPlant(id, `name of ${id}`, { createdBy: "who" });
      await store.plants.create([named], 1234);
      expect(await store.archive.find(id)).toEqual({
        ...named.plant,
        createdAtMs: engine.storedAt(1234),
        createdBy: "who",
      });
    });

    test("are found by many ids at once, without those that are not stored", async () => {
      const ids = [newId(), newId()];
      await store.plants.create(
        ids.map((id) => testPlant(id, "a")),
        1,
      );
      const found = await store.archive.findAll([...ids, newId()]);
      expect(new Set(found.map(({ id }) => id))).toEqual(new Set(ids));
    });

    test("that are not stored are not found", async () => {
      expect(await store.archive.find(newId())).toBeUndefined();
    });

    // Most of these are special in PostgreSQL's arrays.
    const special = ["null", "NULL", "", "{}", '{"a"}', '"', "\\", '\\"', "a,b", " ", "\n\r\t", "o'b", "\\N"];
    const texts = [...special, "🌱é\u{10ffff}", "%_$1"];
    test.each(texts)("keep the text %j unchanged", async (text) => {
      const named = testPlant(newId(), text, { tag: `x${text}` });
      const tagged = testPlant(newId(), `x${text}`, { tag: text });
      await store.plants.create([named, tagged], 1);
      expect(await store.archive.find(named.plant.id)).toMatchObject(named.plant);
      expect(await store.archive.find(tagged.plant.id)).toMatchObject(tagged.plant);
      expect(kindsOf(await store.plants.create([named, tagged], 2))).toEqual(["replayed", "replayed"]);
    });

    test("keep all texts of one batch apart, however special", async () => {
      const batch = texts.map((text) => testPlant(newId(), text, { tag: `x${text}` }));
      await store.plants.create(batch, 1);
      const found = await store.archive.findAll(batch.map(({ plant }) => plant.id));
      const names = new Map(found.map(({ id, name, tag }) => [id, { name, tag }]));
      expect(names).toEqual(new Map(batch.map(({ plant: { id, name, tag } }) => [id, { name, tag }])));
    });

    test("as large as a body may be are stored in any number, in order", async () => {
      const large = Array.from({ length: 80 }, () => {
        const id = newId();
        return testPlant(id, `${id} ${"x".repeat(60_000)}`);
      });
      const first = large[0] as PlantToStore;
      const last = large[79] as PlantToStore;
      const kinds = kindsOf(
        await store.plants.create([...large, first, testPlant(last.plant.id, "other")], 1),
      );
      expect(kinds).toEqual([...Array(80).fill("created"), "replayed", "conflict"]);
      expect(await store.archive.find(last.plant.id)).toMatchObject(last.plant);
    });

    // Random, so that no engine can compress it below one of its limits.
    const randomText = (length: number) => randomBytes(length / 2).toString("hex");
    test.each([
      ["of 65,000 characters", "a", randomText(65_000)],
      ["of 10 characters and a name of 65,000", randomText(65_000), randomText(10)],
      ["of 2,700 characters", "c", randomText(2700)],
      ["of 64,000 bytes beyond ASCII", "d", "🌱".repeat(16_000)],
    ])("with a tag %s are found by it", async (_, name, tag) => {
      const tagged = testPlant(newId(), name, { tag });
      expect(kindsOf(await store.plants.create([tagged], 1))).toEqual(["created"]);
      const page = await store.archive.page(pageRequest({ filter: { tag } }));
      expect(page.plants).toMatchObject([tagged.plant]);
    });
  });
});
