import { SQLiteError } from "bun:sqlite";
import type { AuditTrail } from "../../../access/audit.ts";
import { CursorProblem, type PlantArchive, StaleCursor } from "../../../plants/plant-archive.ts";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import { asDataFileProblem, Damage } from "../data-file-problem.ts";
import { Thread } from "../thread.ts";

/** Reads from an open data file, and returns what was read once it is durable. */
export type SyncedRead = <Result>(read: () => Result | Promise<Result>) => Promise<Result>;

/** What the reader thread serves. */
export interface ReaderCalls extends PlantArchive {
  auditPage: AuditTrail["page"];
}

/** Calls a method of the archive, on this thread or another. */
type Ask = Thread<PlantArchive>["ask"];

/**
 * `synced` resolves once everything is durable that can be read when it is called. SQLite finds damage only on the page that it
 * reads, so each read may fail because of it.
 * @throws DataFileProblem
 */
export function syncedReads(path: string, synced: () => void | Promise<void>): SyncedRead {
  return async (read) => {
    try {
      const result = await read();
      await synced();
      return result;
    } catch (error) {
      throw error instanceof SQLiteError || error instanceof Damage ? asDataFileProblem(error, path) : error;
    }
  };
}

/** An archive on this thread, for processes other than the service. */
export function syncedArchive(archive: PlantArchive, synced: SyncedRead): PlantArchive {
  const methods = archive as unknown as Record<string, (...values: unknown[]) => Promise<never>>;
  return forwarding((method, ...values) => synced(() => methods[method]?.(...values) as Promise<never>));
}

/**
 * Reads on a thread of its own, so that no search or count delays the one that writes. It starts with the first read, and
 * reads one after the other: each is short, or returns what it has found in time.
 */
export class ReaderThread {
  readonly archive: PlantArchive = forwarding((method, ...values) => this.#ask(method, ...values));
  readonly auditPage: AuditTrail["page"] = (...request) => this.#ask("auditPage", ...request);
  readonly #path: string;
  readonly #synced: () => Promise<void>;
  #thread: Thread<ReaderCalls> | undefined;
  #closed = false;

  /** `synced`: resolves once everything is durable that could be read when it was called. */
  constructor(path: string, synced: () => Promise<void>) {
    this.#path = path;
    this.#synced = synced;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#thread?.stop();
  }

  readonly #ask: Thread<ReaderCalls>["ask"] = async (method, ...values) => {
    if (this.#closed) throw closedProblem();
    try {
      this.#thread ??= new Thread<ReaderCalls>("storage/sqlite/reading/archive-thread", {
        setting: this.#path,
        errors: { CursorProblem, StaleCursor },
        onLost: () => {
          this.#thread = undefined;
        },
        keepsProcessAlive: false,
      });
      const result = await this.#thread.ask(method, ...values);
      // The thread can read what is committed and not yet durable.
      await this.#synced();
      return result;
    } catch (error) {
      throw this.#closed ? closedProblem() : error;
    }
  };
}

function forwarding(ask: Ask): PlantArchive {
  return {
    page: (request) => ask("page", request),
    pageAfter: (request) => ask("pageAfter", request),
    find: (id) => ask("find", id),
    findAll: (ids) => ask("findAll", ids),
    total: () => ask("total"),
    createdPerBucket: (...span) => ask("createdPerBucket", ...span),
    count: (...values) => ask("count", ...values),
    diskUsage: () => ask("diskUsage"),
  };
}

function closedProblem(): StoreUnavailable {
  return new StoreUnavailable("The store is being closed.");
}
