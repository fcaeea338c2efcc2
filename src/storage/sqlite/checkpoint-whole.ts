import type { Database } from "bun:sqlite";
import { StoreUnavailable } from "../../plants/plant-store.ts";

/** Puts all of the WAL into the data file, synced, and empties it. For a connection that reads integers as bigint. */
export function checkpointWhole(database: Database): void {
  const row = database.query<{ busy: bigint }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get();
  if (row?.busy !== 0n)
    throw new StoreUnavailable("The WAL cannot be checkpointed: the data file is in use.");
}
