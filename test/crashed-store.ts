import { Database } from "bun:sqlite";
import { copyFileSync, rmSync } from "node:fs";
import { SqliteStore } from "../src/storage/sqlite/sqlite-store.ts";

export interface CrashedStore {
  readonly plants: number;
  /** How many of them are in the data file; the others are only in the WAL. */
  readonly checkpointed?: number;
  readonly nameOf?: (id: number) => string;
}

/** Creates a data file and its WAL as kill -9 leaves them, with one transaction for each plant. */
export async function crashedStore(
  file: string,
  { plants, checkpointed = 0, nameOf = () => "fern" }: CrashedStore,
): Promise<void> {
  const running = `${file}.running`;
  {
    await using store = new SqliteStore(running);
    using other = new Database(running);
    for (let id = 1; id <= plants; id++) {
      const plant = { id: BigInt(id), name: nameOf(id), tag: undefined };
      await store.plants.create([{ plant, createdBy: "crashed" }], Date.now());
      if (id !== checkpointed) continue;
      // Another program's table between the plants: a copy that SQLite makes has its pages in another order.
      other.run("CREATE TABLE others_own AS SELECT zeroblob(20000) AS bytes");
      other.query("PRAGMA wal_checkpoint(TRUNCATE)").get();
    }
    for (const end of ["", "-wal"]) copyFileSync(running + end, file + end);
  }
  for (const end of ["", ".lock"]) rmSync(running + end);
}
