// A data file that was restored is a new store: by its store id, a cursor from before the restore is recognised.
import type { Database } from "bun:sqlite";
import type { OnStep } from "../../../plants/plant-backups.ts";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import { connect, keepWal, lockWaitMsMax } from "../data-file/connect.ts";
import { asDataFileProblem, DataFileProblem } from "../data-file/data-file-problem.ts";
import { checkpointAndMarkClosed, readUse, writeUse } from "../data-file/store-use.ts";
import { openDatabase } from "../writing/open-for-writing.ts";
import { type CopiedPlants, compareWithSource, refuseUnsound } from "./check-copy.ts";

/**
 * Makes a copy a new store: migrates it, gives it a new store id, and compares its plants with those of its source. Opening also checks that it is a data file.
 */
export async function makeNewStore(path: string, source: string, onStep: OnStep): Promise<CopiedPlants> {
  try {
    using database = openDatabase(path, { mayCreate: false, mayMigrate: true });
    giveNewStoreId(database);
    // Closing would checkpoint too, and ignore a full disk.
    checkpointAndMarkClosed(database);
    keepWal(database, false);
  } catch (error) {
    throw error instanceof StoreUnavailable ? error : asDataFileProblem(error, path);
  }
  await refuseUnsound(path, onStep);
  return compareWithSource(path, source, onStep);
}

/**
 * Makes a data file a new store where it is, and marks it as closed. Not through the WAL: one with another store id than its
 * data file is refused as that of another store. Each page is written in place; after a crash in between, the file still says
 * that it is in use, or is complete.
 */
export function makeNewStoreInPlace(path: string): void {
  try {
    using database = connect(path, lockWaitMsMax);
    database.run("PRAGMA synchronous = FULL");
    database.run("PRAGMA locking_mode = EXCLUSIVE");
    const mode = database.query<{ journal_mode: string }, []>("PRAGMA journal_mode = MEMORY").get();
    if (mode?.journal_mode !== "memory") throw new DataFileProblem(`${path} is open in another process.`);
    giveNewStoreId(database);
    if (readUse(database) !== undefined) writeUse(database, "closed");
    database.run("PRAGMA journal_mode = WAL");
    keepWal(database, false);
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

function giveNewStoreId(database: Database): void {
  database.run("UPDATE store_id SET id = lower(hex(randomblob(8)))");
}
