import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/harness.ts";
import { openWriter } from "./open-writer.ts";
import { SqlitePlants } from "./sqlite-plants.ts";
import { DiskSpeed } from "./wal-sync.ts";
import { Writer } from "./writer.ts";

test("a batch should have as many plants as an fsync of this disk should cover", () => {
  using folder = temporaryFolder();
  const { database, lock } = openWriter(join(folder.path, "plants.db"));
  const writer = new Writer(database, { committed() {}, outcomeUnknown: (reason) => reason });
  const disk = new DiskSpeed();
  const plants = new SqlitePlants(database, writer, {}, disk);
  expect(plants.batchArrivalsIdeal).toBeUndefined();
  disk.syncedInBackground(10);
  expect(plants.batchArrivalsIdeal).toBe(disk.plantsPerSync as number);
  database.close();
  lock[Symbol.dispose]();
});
