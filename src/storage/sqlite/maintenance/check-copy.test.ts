import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { compareWithSource } from "./check-copy.ts";

const folder = temporaryFolder();
const store = join(folder.path, "plants.db");
beforeAll(() => seedStore(store, { plants: 1500 }));
afterAll(() => folder[Symbol.dispose]());

/** A copy of the store, changed by SQL. */
function changedCopy(sql: string): string {
  const copy = folder.newCopy(store);
  using database = new Database(copy);
  database.run(sql);
  return copy;
}

test.each([
  [
    "a plant that differs",
    "UPDATE plants SET name = 'Other' WHERE seq = 1400",
    "in block 1 (plants 1025 to 2048)",
  ],
  ["a block without its plants", "DELETE FROM plants WHERE seq <= 1024", "in block 0 (plants 1 to 1024)"],
  [
    "a plant that its source has not",
    "INSERT INTO plants VALUES (1501, -1, 'New', NULL, 1, 'test')",
    "in its last block",
  ],
])("a copy with %s is refused", async (_, sql, where) => {
  await expect(compareWithSource(changedCopy(sql), store)).rejects.toThrow(
    `The copy of ${store} has other plants ${where}; check the disk, and try again.`,
  );
});

test("a copy that its source has outgrown is accepted", async () => {
  const copy = changedCopy("DELETE FROM plants WHERE seq > 1400");
  expect(await compareWithSource(copy, store)).toMatchObject({
    coveredPlants: 1024,
    matchedPlants: 1024,
    changedBlocks: [],
  });
});
