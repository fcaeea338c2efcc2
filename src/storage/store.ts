import type { AuditTrail } from "../access/audit.ts";
import type { TokenStore } from "../access/tokens.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { OutcomeUnknown, type PlantStore } from "../plants/plant-store.ts";

/** Everything that is stored, whichever engine stores it. */
export interface Store extends AsyncDisposable {
  readonly engine: "sqlite" | "postgres";
  readonly plants: PlantStore;
  readonly tokens: TokenStore;
  readonly audit: AuditTrail;
  readonly archive: PlantArchive;
  /**
   * When the last good backup was started, if there is one: it has every plant acknowledged before. Absent if the
   * database has its own backups.
   */
  readonly lastBackup?: () => Promise<{ readonly atMs: number } | undefined>;
  /** Resolves if the store no longer knows what is durable: the process must end without closing it. */
  readonly failure?: Promise<OutcomeUnknown>;
  /** Set from the start until its server was reached: resolves once the store is open, rejects if waiting cannot help. */
  readonly opening?: Promise<void> | undefined;
}

/** What can be read of a store that was opened for reading. */
export interface ReadableStore extends AsyncDisposable {
  readonly archive: PlantArchive;
  readonly tokens: Pick<TokenStore, "all">;
  readonly audit: Pick<AuditTrail, "page">;
}

/** What a store reports in addition to its results. */
export interface StoreEvents {
  /** Another process has the data file open, so the WAL cannot be emptied at the start. */
  readonly dataFileShared?: () => void;
  /** The data file has fewer plants than its last backup. */
  readonly plantsMissing?: (plants: number, inBackup: number) => void;
  /** The WAL of a data file that was replaced was moved into this folder. */
  readonly walMovedAway?: (folder: string) => void;
  /** A sync failed in the last process, so everything is copied into a new file; `bytes` is how much. */
  readonly rebuilding?: (bytes: number) => void;
  /** The failure marker could not be written, so the next start does not know of the failure. */
  readonly markerNotWritten?: (reason: string) => void;
  /** How long an fsync took: of the data file, or of the WAL. Except on Linux, that of the WAL includes its COMMIT. */
  readonly synced?: (file: "wal" | "data", tookMs: number) => void;
  /** An fsync of the WAL has taken over a second so far; creates wait for it. */
  readonly diskStalled?: () => void;
  /** An fsync of the WAL took over a second, and has succeeded; creates waited for it. */
  readonly diskRecovered?: (tookMs: number) => void;
  readonly checkpointed?: (hasSucceeded: boolean) => void;
}

/** What the store of a service reports while it opens, which for one on a server may take any time. */
export interface OpeningEvents {
  /** Called with each new reason of a failed attempt: unreachable, or another process is migrating. */
  readonly databaseUnavailable: (reason: string) => void;
  readonly databaseOpened: () => void;
  /**
   * The table of plants has triggers or rules, such as `trigger "shout"`, that may change or drop a plant before it is stored.
   */
  readonly plantsRewritten: (by: readonly string[]) => void;
}

// Only SQLite fails in these two ways. They are here, since the service treats each in its own way, and imports no engine.

/** The data file or its WAL was deleted or replaced, so only this process still has both open. */
export class DataFileReplaced extends OutcomeUnknown {}

/** Another program wrote to the data file, or put other files in the place of its own, so that they may be a mixture. */
export class DataFileOverwritten extends DataFileReplaced {}

/**
 * The -shm file was deleted or replaced. The locks of this process are on a file without a name, so that another process sees
 * none of them and writes to the same part of the WAL. Everything acknowledged is in the files; the next start recovers it.
 */
export class WalIndexLost extends OutcomeUnknown {}
