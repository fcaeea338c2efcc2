import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PageRequest } from "../../plants/plant-archive.ts";
import { SqliteStore } from "./sqlite-store.ts";
import { verify } from "./verify.ts";

// More than two windows, in batches that do not divide them, and a rest that is in none yet.
const plants = 2500;
const batch = 77;
const tagOf = (id: number) => (id % 5 === 0 ? undefined : id === 1 ? "first" : `t${id % 3}`);
// Line feeds, letters of other scripts and signs that patterns use; one window has names too long to be written down.
const nameOf = (id: number) =>
  id % 7 === 0 ? `Été\n${id}%` : id > 1024 && id < 1100 ? `Long ${"x".repeat(3000)} ${id}` : `Fern_${id} é`;
const needles = ["fern_1", "FERN_24", "été", "ÉTÉ\n7", "x 10", "é", "%", "_", "no such", "n_2400 é"];
const idsNamed = (part: string) =>
  Array.from({ length: plants }, (_, index) => index + 1).filter((id) =>
    nameOf(id).toLowerCase().includes(part.toLowerCase()),
  );
const idsWith = (tag: string) =>
  Array.from({ length: plants }, (_, index) => index + 1).filter((id) => tagOf(id) === tag);

async function idsFound(
  store: SqliteStore,
  filter: PageRequest["filter"],
  order: PageRequest["order"],
): Promise<number[]> {
  const ids: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.archive.page({ filter, order, cursor, limit: 97, searchMsMax: 1000 });
    ids.push(...page.plants.map(({ id }) => Number(id)));
    cursor = page.next;
  } while (cursor !== undefined);
  return ids;
}

test("plants are found by tag and name, those in counted windows and the newest that are in none yet", async () => {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-"));
  const file = join(folder, "plants.db");
  try {
    let store = new SqliteStore(file);
    for (let id = 1; id <= plants; ) {
      const arrivals = [];
      for (; arrivals.length < batch && id <= plants; id++)
        arrivals.push({ plant: { id: BigInt(id), name: nameOf(id), tag: tagOf(id) }, createdBy: "test" });
      await store.plants.create(arrivals, Date.now());
      await store.plants.create(arrivals.slice(0, 3), Date.now());
    }
    for (let round = 0; round < 2; round++) {
      for (const tag of ["t0", "t1", "t2", "first", "none"]) {
        expect(await idsFound(store, { tag }, "oldest-first")).toEqual(idsWith(tag));
        expect(await idsFound(store, { tag }, "newest-first")).toEqual(idsWith(tag).toReversed());
      }
      for (const namePart of needles) {
        expect(await idsFound(store, { namePart }, "oldest-first")).toEqual(idsNamed(namePart));
        expect(await idsFound(store, { namePart }, "newest-first")).toEqual(idsNamed(namePart).toReversed());
      }
      const both = idsNamed("fern_1").filter((id) => tagOf(id) === "t1");
      expect(await idsFound(store, { namePart: "fern_1", tag: "t1" }, "oldest-first")).toEqual(both);
      const counts = ["t0", "t1", "t2", "first"].map((tag) => ({ tag, plants: idsWith(tag).length }));
      expect(await store.archive.topTags(10)).toEqual(
        counts.toSorted((a, b) => b.plants - a.plants || (a.tag < b.tag ? -1 : 1)),
      );
      await store[Symbol.asyncDispose]();
      expect(await verify(file, () => {})).toEqual({ plants, problems: [] });
      store = new SqliteStore(file);
    }
    await store[Symbol.asyncDispose]();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
