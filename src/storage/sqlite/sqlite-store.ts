import type { PlantArchive } from "../../plants/plant-archive.ts";
import type { OutcomeUnknown } from "../../plants/plant-store.ts";
import { DataFileOverwritten, DataFileReplaced, type Store, type StoreEvents } from "../store.ts";
import { asDataFileProblem } from "./data-file/data-file-problem.ts";
import { type Failure, whyFailureUnrecorded } from "./data-file/failure-marker.ts";
import { readLastBackup, whyStoreUnrecorded } from "./data-file/last-backup.ts";
import { SyncFailure } from "./data-file/left-open.ts";
import { type OpenDataFile, openForWriting } from "./opening/open-for-writing.ts";
import { Reader } from "./reading/reader.ts";
import { syncedReads } from "./reading/synced-reads.ts";
import { SqliteAudit } from "./sqlite-audit.ts";
import { SqliteTokens } from "./sqlite-tokens.ts";
import { Checkpointer, type CheckpointOwner } from "./writing/checkpointer.ts";
import { DataFileWatch } from "./writing/data-file-watch.ts";
import { SqlitePlants } from "./writing/sqlite-plants.ts";
import { takeOverSync } from "./writing/wal-sync.ts";
import { stalledMs, Writer, type WriterOwner } from "./writing/writer.ts";

/**
 * The embedded store as the service runs it: one connection writes plants, tokens and the audit trail; the others
 * read or checkpoint.
 */
export class SqliteStore implements Store {
  readonly engine = "sqlite";
  readonly plants: SqlitePlants;
  readonly tokens: SqliteTokens;
  readonly audit: SqliteAudit;
  readonly archive: PlantArchive;
  /** The connection that writes, with the writer lock. */
  readonly #file: OpenDataFile;
  readonly #watch: DataFileWatch;
  readonly #checkpointer: Checkpointer;
  readonly #writer: Writer;
  readonly #reader: Reader;
  readonly #events: StoreEvents;
  readonly #failure = Promise.withResolvers<OutcomeUnknown>();
  #hasFailed = false;

  constructor(path: string, events: StoreEvents = {}) {
    this.#events = events;
    // Closes the watch's handles if the store cannot be opened, after the database: before it, that would drop SQLite's locks.
    using handles = new DisposableStack();
    // Undone if a later part cannot be started: the data file is marked as closed again, and the lock is released.
    using started = new DisposableStack();

    // The data file, recovered and migrated.
    this.#file = started.use(openForWriting(path, events));
    const { database, path: realPath } = this.#file;

    // Whether another program deletes, replaces or overwrites the files.
    this.#watch = new DataFileWatch(realPath, database, (loss) => this.#filesLost(loss), handles);
    started.defer(() => this.#watch.stop());

    // The one way to write.
    const writerOwner: WriterOwner = {
      afterCommit: (syncMs) => {
        events.synced?.("wal", syncMs);
        if (syncMs >= stalledMs) events.diskRecovered?.(syncMs);
        this.#checkpointer.committed();
      },
      reportUnknown: (reason) => {
        this.#fail(reason, "sync-failed");
        return reason;
      },
      reportStall: () => events.diskStalled?.(),
    };
    this.#writer = new Writer(database, writerOwner, takeOverSync(database, this.#watch.files.wal));

    // The thread that reads for the operator. What it reads is returned once it is durable.
    const synced = () => this.#writer.synced();
    this.#reader = new Reader(realPath, synced);

    // What the service sees.
    this.archive = this.#reader.archive;
    try {
      this.plants = new SqlitePlants(database, this.#writer);
      this.audit = new SqliteAudit(database, this.#reader.auditPage, this.#writer);
      this.tokens = new SqliteTokens(database, syncedReads(realPath, synced), this.#writer, this.audit);
    } catch (error) {
      // The parts prepare their statements, and an index of the operator's own may call a function that this SQLite lacks.
      throw asDataFileProblem(error, realPath);
    }

    // The thread that moves the WAL into the data file. It comes last, since it cannot be stopped at once.
    const checkpointOwner: CheckpointOwner = {
      checkpointFailed: (reason) => this.#fail(reason, "sync-failed"),
      whilePaused: (work) => this.#writer.whilePaused(work),
    };
    this.#checkpointer = new Checkpointer(database, this.#watch, checkpointOwner, events);

    // Everything has started: from here on the disposal of the store closes it.
    started.move();
    handles.move();
  }

  get failure(): Promise<OutcomeUnknown> {
    return this.#failure.promise;
  }

  async lastBackup(): Promise<{ readonly atMs: number } | undefined> {
    return readLastBackup(this.#file.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch.stop();
    // What still waits, such as for another process's lock, would otherwise find a closed database, which looks like a failure.
    if (!this.#hasFailed) await this.#writer.close();
    await this.#reader.close();
    // After a failure the connection stays open (left-open.ts). The last checkpoint and the last check may find one too.
    if (this.#hasFailed) return;
    await this.#checkpointer.close();
    if (this.#hasFailed) return;
    // Closing would checkpoint into a file that another program has changed.
    if (!this.#watch.checkAndReport()) return;
    try {
      this.#file[Symbol.dispose]();
    } catch (error) {
      // Only a failed sync is a failure of the store, and `recordSyncFailure` has recorded it. A data file that could not be
      // marked as closed is the caller's to report: it has lost nothing, and the next start recovers it as after a kill.
      if (!(error instanceof SyncFailure)) throw error;
      return this.#fail(error, undefined);
    }
    this.#watch.closeFiles();
  }

  /** If only the -shm file is lost, nothing is recorded: the data file and the WAL have everything, and a start recovers them. */
  #filesLost(loss: OutcomeUnknown): void {
    this.#fail(loss, loss instanceof DataFileOverwritten ? "overwritten" : undefined);
    if (!(loss instanceof DataFileReplaced)) return;
    // The record may have been deleted with the files. It keeps the next start from an empty store.
    const unrecorded = whyStoreUnrecorded(this.#file.path);
    if (unrecorded !== undefined) this.#events.markerNotWritten?.(unrecorded);
  }

  /**
   * Stops everything without closing the database. `toRecord` is what the next start must know; undefined if it needs to know
   * nothing, or if that has been recorded already.
   */
  #fail(reason: OutcomeUnknown, toRecord: Failure | undefined): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#writer.stop(reason);
    this.#checkpointer.stop();
    this.#watch.stop();
    const unrecorded = toRecord === undefined ? undefined : whyFailureUnrecorded(this.#file.path, toRecord);
    if (unrecorded !== undefined) this.#events.markerNotWritten?.(unrecorded);
    this.#failure.resolve(reason);
  }
}
