import { Database } from "bun:sqlite";
import { copyFileSync, rmSync } from "node:fs";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { eventually } from "./eventually.ts";
import { testPlant } from "./stored-plants.ts";

/**
 * A rollback journal with the header that SQLite writes: the file had no pages when the transaction began, so undoing
 * that empties the file.
 */
export const emptyingJournal = Buffer.alloc(1024);
emptyingJournal.write("d9d505f920a163d700000000c753ac28000000000000020000001000", "hex");

/**
 * Creates a data file and its WAL as kill -9 leaves them. Plants that are not checkpointed are only in the WAL, with one
 * transaction for each.
 */
export async function crashedStore(
  file: string,
  plants: number,
  { checkpointed = 0, nameOf = (_id: number): string => "fern" } = {},
): Promise<void> {
  const running = `${file}.running`;
  {
    await using store = new SqliteStore(running);
    using other = new Database(running);
    const all = Array.from({ length: plants }, (_, index) => testPlant(index + 1, nameOf(index + 1)));
    if (checkpointed > 0) {
      await store.plants.create(all.slice(0, checkpointed), Date.now());
      // Another program's table between the plants: a copy that SQLite makes has its pages in another order.
      other.run("CREATE TABLE others_own AS SELECT zeroblob(20000) AS bytes");
      // The store's own checkpoint may be running, and SQLite does not wait for that one.
      await eventually(() => isCheckpointed(other), "the checkpoint");
    }
    for (const plant of all.slice(checkpointed)) await store.plants.create([plant], Date.now());
    for (const end of ["", "-wal"]) copyFileSync(running + end, file + end);
  }
  for (const end of ["", ".lock"]) rmSync(running + end);
}

function isCheckpointed(database: Database): boolean {
  const row = database.query<{ busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get();
  return row?.busy === 0;
}
