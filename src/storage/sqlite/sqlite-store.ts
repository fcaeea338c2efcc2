import type { Database } from "bun:sqlite";
import type { PlantArchive } from "../../plants/plant-archive.ts";
import type { OutcomeUnknown } from "../../plants/plant-store.ts";
import { DataFileReplaced, type LastBackup, type StoreEvents } from "../store.ts";
import { checkpointBeforeClose } from "./connect.ts";
import { type Failure, writeMarker } from "./failure-marker.ts";
import { readLastBackup } from "./maintenance/backup.ts";
import { ReaderThread, syncedReads } from "./reading/synced-reads.ts";
import { SqliteAudit } from "./sqlite-audit.ts";
import { SqliteTokens } from "./sqlite-tokens.ts";
import type { WriterLock } from "./writer-lock.ts";
import { Checkpointer } from "./writing/checkpointer.ts";
import { DataFileWatch, type Loss } from "./writing/data-file-watch.ts";
import { openWriter } from "./writing/open-writer.ts";
import { SqlitePlants } from "./writing/sqlite-plants.ts";
import { takeOverSync } from "./writing/wal-sync.ts";
import { Writer } from "./writing/writer.ts";

const closeMsMaxDefault = 10_000;

/** The embedded store as the service runs it: one connection writes plants, tokens and the audit trail; the others only read. */
export class SqliteStore implements AsyncDisposable {
  readonly engine = "sqlite";
  readonly plants: SqlitePlants;
  readonly tokens: SqliteTokens;
  readonly audit: SqliteAudit;
  readonly archive: PlantArchive;
  readonly failure: Promise<OutcomeUnknown>;
  readonly #failure = Promise.withResolvers<OutcomeUnknown>();
  readonly #events: StoreEvents;
  readonly #closeMsMax: number;
  readonly #path: string;
  readonly #database: Database;
  readonly #lock: WriterLock;
  readonly #watch: DataFileWatch;
  readonly #checkpointer: Checkpointer;
  readonly #writer: Writer;
  readonly #reader: ReaderThread;
  #failed = false;

  /** On close, a checkpoint in progress has `closeMsMax` to end. */
  constructor(path: string, events: StoreEvents = {}, closeMsMax = closeMsMaxDefault) {
    this.#closeMsMax = closeMsMax;
    this.failure = this.#failure.promise;
    this.#events = events;
    const { database, path: real, lock, shared } = openWriter(path, events);
    this.#path = real;
    this.#database = database;
    this.#lock = lock;
    if (shared) events.dataFileShared?.();
    this.#watch = new DataFileWatch(real, (loss) => this.#lost(loss));
    this.#checkpointer = new Checkpointer(database, real, this.#watch.data, {
      failed: (reason) => this.#fail(reason, { reason: "sync-failed" }),
      walGrown: (bytes) => events.walGrown?.(bytes),
      synced: (tookMs) => events.synced?.("data", tookMs),
      checkpointed: (succeeded) => events.checkpointed?.(succeeded),
      whilePaused: (work) => this.#writer.whilePaused(work),
      filesAreIntact: () => this.#watch.check(),
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
    const syncedRead = syncedReads(real, synced);
    this.audit = new SqliteAudit(database, syncedRead, this.#writer);
    this.tokens = new SqliteTokens(database, syncedRead, { writer: this.#writer, audit: this.audit });
    this.#reader = new ReaderThread(real, synced);
    this.archive = this.#reader.archive;
  }

  lastBackup(): Promise<LastBackup | undefined> {
    return readLastBackup(this.#path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch.stop();
    await this.#reader.close();
    if (!this.#failed) await this.#checkpointer.stop(this.#closeMsMax);
    // Closing would checkpoint into another file, and delete the WAL of the one that is at the path now.
    if (!this.#failed) this.#watch.check();
    // Closing would sync again, which then reports success, checkpoint, and delete the WAL, the only sound copy.
    if (this.#failed) return;
    const failure = checkpointBeforeClose(this.#database);
    if (failure !== undefined) return this.#fail(failure, { reason: "sync-failed" });
    // The last connection to close deletes the WAL.
    this.#database.close();
    this.#watch.closeFiles();
    this.#lock[Symbol.dispose]();
  }

  #lost({ file, how }: Loss): void {
    const what = file === "wal" ? "WAL" : "data file";
    const happened = how === "replaced" ? "deleted or replaced" : "overwritten";
    const message = `The ${what} was ${happened} while it was open.`;
    const commands = how === "replaced" ? this.#watch.copyCommands() : undefined;
    this.#fail(new DataFileReplaced(message, how, commands), { reason: "replaced" });
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
