import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { compareWithSource } from "./check-copy.ts";

/** A store of 1,500 plants, and a copy that is changed by SQL. */
function storeAndCopy(sql: string) {
  const folder = temporaryFolder();
  const store = join(folder.path, "plants.db");
  const copy = join(folder.path, "copy.db");
  seedStore(store, { plants: 1500 });
  copyFileSync(store, copy);
  using database = new Database(copy);
  database.run(sql);
  return { store, copy, [Symbol.dispose]: () => folder[Symbol.dispose]() };
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
  using files = storeAndCopy(sql);
  await expect(compareWithSource(files.copy, files.store)).rejects.toThrow(
    `The copy of ${files.store} has other plants ${where}; check the disk, and try again.`,
  );
});

test("a copy that its source has outgrown is accepted", async () => {
  using files = storeAndCopy("DELETE FROM plants WHERE seq > 1400");
  expect(await compareWithSource(files.copy, files.store)).toMatchObject({
    coveredPlants: 1024,
    matchedPlants: 1024,
    changedBlocks: [],
  });
});
