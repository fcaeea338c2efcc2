import type { Database } from "bun:sqlite";
import type { OutcomeUnknown } from "../../plants/plant-store.ts";
import { DataFileReplaced, type LastBackup, type StoreEvents } from "../store.ts";
import { type Failure, writeMarker } from "./failure-marker.ts";
import { readLastBackup } from "./maintenance/last-backup.ts";
import { ThreadedArchive } from "./reading/threaded-archive.ts";
import { SqliteAudit } from "./sqlite-audit.ts";
import { SqliteTokens } from "./sqlite-tokens.ts";
import { checkpointBeforeClose } from "./truncate-wal.ts";
import type { WriterLock } from "./writer-lock.ts";
import { Checkpointer } from "./writing/checkpointer.ts";
import { DataFileWatch, type WatchedFile } from "./writing/data-file-watch.ts";
import { openWriter } from "./writing/open-writer.ts";
import { SqlitePlants } from "./writing/sqlite-plants.ts";
import { takeOverSync } from "./writing/wal-sync.ts";
import { Writer } from "./writing/writer.ts";

/** The embedded store as the service runs it: one connection writes plants, tokens and the audit trail; the others only read. */
export class SqliteStore implements AsyncDisposable {
  readonly engine = "sqlite";
  readonly plants: SqlitePlants;
  readonly tokens: SqliteTokens;
  readonly audit: SqliteAudit;
  readonly archive: ThreadedArchive;
  readonly failure: Promise<OutcomeUnknown>;
  readonly #failure = Promise.withResolvers<OutcomeUnknown>();
  readonly #events: StoreEvents;
  readonly #path: string;
  readonly #database: Database;
  readonly #lock: WriterLock;
  readonly #watch: DataFileWatch;
  readonly #checkpointer: Checkpointer;
  readonly #writer: Writer;
  #failed = false;

  constructor(path: string, events: StoreEvents = {}) {
    this.failure = this.#failure.promise;
    this.#events = events;
    const { database, path: real, lock, shared } = openWriter(path, events);
    this.#path = real;
    this.#database = database;
    this.#lock = lock;
    if (shared) events.dataFileShared?.();
    this.#watch = new DataFileWatch(real, (file) => this.#replaced(file));
    this.#checkpointer = new Checkpointer(database, real, this.#watch.data, {
      failed: (reason) => this.#fail(reason, { reason: "sync-failed" }),
      walGrown: (bytes) => events.walGrown?.(bytes),
      synced: (tookMs) => events.synced?.("data", tookMs),
      checkpointed: (succeeded) => events.checkpointed?.(succeeded),
      whilePaused: (work) => this.#writer.whilePaused(work),
    });
    this.#writer = new Writer(database, {
      committed: (tookMs) => {
        events.synced?.("wal", tookMs);
        this.#checkpointer.committed();
      },
      outcomeUnknown: (reason) => {
        this.#fail(reason, { reason: "sync-failed" });
        return reason;
      },
      syncWal: takeOverSync(database, this.#watch.wal),
      stalled: () => events.diskStalled?.(),
    });
    this.plants = new SqlitePlants(database, this.#writer, events);
    const synced = () => this.#writer.synced();
    this.audit = new SqliteAudit(database, synced, this.#writer);
    this.tokens = new SqliteTokens(database, synced, { writer: this.#writer, audit: this.audit });
    this.archive = new ThreadedArchive(real, synced);
  }

  lastBackup(): Promise<LastBackup | undefined> {
    return readLastBackup(this.#path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch.stop();
    // Closing would delete the WAL of the file that is at the path now.
    if (!this.#failed) await this.#watch.check();
    await this.archive.close();
    // Closing would sync again, which then reports success, checkpoint, and delete the WAL, the only sound copy.
    if (this.#failed) return;
    await this.#checkpointer.stop();
    const failure = checkpointBeforeClose(this.#database);
    if (failure !== undefined) return this.#fail(failure, { reason: "sync-failed" });
    // The last connection to close deletes the WAL.
    this.#database.close();
    this.#watch.closeFiles();
    this.#lock[Symbol.dispose]();
  }

  #replaced(file: WatchedFile): void {
    const what = file === "wal" ? "WAL" : "data file";
    const message = `The ${what} was deleted or replaced while it was open.`;
    this.#fail(new DataFileReplaced(message, this.#watch.copyCommands()), { reason: "replaced" });
  }

  #fail(reason: OutcomeUnknown, marker: Failure): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#writer.stop(reason);
    this.#checkpointer.halt();
    this.#watch.stop();
    try {
      writeMarker(this.#path, marker);
    } catch (error) {
      this.#events.markerNotWritten?.(String(error));
    }
    this.#failure.resolve(reason);
  }
}
