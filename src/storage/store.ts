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
  /** The last good backup, if there is one; absent if the database has its own backups. */
  readonly lastBackup?: () => Promise<LastBackup | undefined>;
  /** Resolves if the store no longer knows what is durable: the process must end without closing it. */
  readonly failure?: Promise<OutcomeUnknown>;
  /** Set while its server is unreachable at the start: resolves once it is open, rejects if waiting cannot help. */
  readonly opened?: Promise<void> | undefined;
}

export interface LastBackup {
  /** When it was started: it has every plant acknowledged before. */
  readonly atMs: number;
  /** Of its file. */
  readonly sha256: string;
}

/** What a store reports in addition to its results. */
export interface StoreEvents {
  /** Another process has the data file open, so the WAL cannot be emptied at the start. */
  readonly dataFileShared?: () => void;
  /** A sync failed in the last process, so everything is copied into a new file; `bytes` is how much. */
  readonly rebuilding?: (bytes: number) => void;
  /** The failure marker could not be written, so the next start does not know of the failure. */
  readonly markerNotWritten?: (reason: string) => void;
  /** An fsync of the WAL, except on Linux the COMMIT with it, or of the data file. */
  readonly synced?: (file: "wal" | "data", tookMs: number) => void;
  /** An fsync of the WAL has taken over a second so far; creates wait for it. */
  readonly diskStalled?: () => void;
  readonly checkpointed?: (succeeded: boolean) => void;
}

/** The data file or its WAL was deleted or replaced, so only this process still has both open; or it was overwritten. */
export class DataFileReplaced extends OutcomeUnknown {
  readonly how: "replaced" | "overwritten";
  /** What copies both from this process, for a shell; undefined if there is nothing to copy, or no /proc. */
  readonly copyCommands: string | undefined;

  constructor(message: string, how: "replaced" | "overwritten", copyCommands: string | undefined) {
    super(message);
    this.how = how;
    this.copyCommands = copyCommands;
  }
}
