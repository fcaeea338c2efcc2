import { existsSync } from "node:fs";
import { readPragma } from "../connect.ts";
import { realDataFile, refuseUnreadable } from "../data-file-path.ts";
import { fileSize } from "../durable-files.ts";
import { type Failure, readMarker } from "../failure-marker.ts";
import { tryShared } from "../writer-lock.ts";
import { openReadOnly } from "./open-read-only.ts";

/** What a data file says about its own condition, read without changing it. */
export interface DataFileDiagnosis {
  /** Whether a service, or a command that writes plants, has it open. */
  readonly hasWriter: boolean;
  /** What the last process recorded when it no longer knew what was durable. */
  readonly failure: Failure | undefined;
  readonly bytes: number;
  readonly walBytes: number;
  readonly journalMode: string;
  readonly pageBytes: number;
  readonly lastPlantMs: number | undefined;
}

/**
 * Undefined if there is no data file yet.
 * @throws DataFileProblem it cannot be used, for the reason in the message.
 */
export function diagnoseDataFile(named: string): DataFileDiagnosis | undefined {
  const path = realDataFile(named);
  refuseUnreadable(path);
  if (!existsSync(path) && !existsSync(`${path}-wal`)) return undefined;
  const failure = readMarker(path);
  const hasWriter = isServed(path);
  // Also refuses a file that is damaged, replaced or not ours.
  using database = openReadOnly(path, { older: true });
  const last = database
    .query<{ at: bigint }, []>("SELECT created_at_ms AS at FROM plants ORDER BY seq DESC LIMIT 1")
    .get();
  return {
    hasWriter,
    failure,
    bytes: fileSize(path),
    walBytes: fileSize(`${path}-wal`),
    journalMode: String(readPragma(database, "journal_mode")),
    pageBytes: Number(readPragma(database, "page_size")),
    lastPlantMs: last === null ? undefined : Number(last.at),
  };
}

function isServed(path: string): boolean {
  try {
    using lock = tryShared(path);
    return lock === undefined;
  } catch {
    // Without a lock file no process has ever written.
    return false;
  }
}
