import type { Database } from "bun:sqlite";
import { OutcomeUnknown, StoreUnavailable } from "../../plants/plant-store.ts";
import { codeOf, isFullOrBusy } from "./lock-wait.ts";

/**
 * Checkpoints all of the WAL and truncates it. For a connection that reads integers as bigint.
 * @throws StoreUnavailable another connection uses the WAL.
 */
export function truncateWal(database: Database): void {
  const row = database.query<{ busy: bigint }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get();
  if (row?.busy !== 0n)
    throw new StoreUnavailable("The WAL cannot be checkpointed: the data file is in use.");
}

/** To be called before a close, which checkpoints too but ignores every error. After a failure returned here, do not close. */
export function checkpointBeforeClose(database: Database): OutcomeUnknown | undefined {
  try {
    database.query("PRAGMA wal_checkpoint(TRUNCATE)").get();
    return undefined;
  } catch (error) {
    if (isFullOrBusy(codeOf(error))) return undefined;
    return new OutcomeUnknown(`The last checkpoint failed: ${codeOf(error) || String(error)}.`, {
      cause: error,
    });
  }
}
