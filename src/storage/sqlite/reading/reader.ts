import type { AuditTrail } from "../../../access/audit.ts";
import { CursorProblem, type PlantArchive, StaleCursor } from "../../../plants/plant-archive.ts";
import { closedError } from "../data-file/connect.ts";
import { Thread } from "../threads/thread.ts";

/** What the reader thread serves. */
export interface ReaderCalls extends PlantArchive {
  auditPage: AuditTrail["page"];
}

/**
 * Reads on a thread of its own, so that no search or count delays the one that writes. It starts with the first read, and
 * reads one after the other: each is short, or returns what it has found in time.
 */
export class Reader {
  readonly archive: PlantArchive = {
    page: (request) => this.#ask("page", request),
    pageAfter: (request) => this.#ask("pageAfter", request),
    findAll: (ids) => this.#ask("findAll", ids),
    total: () => this.#ask("total"),
    nowMs: async () => Date.now(),
    createdPerBucket: (...span) => this.#ask("createdPerBucket", ...span),
    count: (...request) => this.#ask("count", ...request),
    diskUsage: () => this.#ask("diskUsage"),
  };
  readonly auditPage: AuditTrail["page"] = (...request) => this.#ask("auditPage", ...request);
  readonly #path: string;
  readonly #synced: () => Promise<void>;
  #thread: Thread<ReaderCalls> | undefined;
  #isClosed = false;

  /** `synced`: resolves once everything is durable that could be read when it was called. */
  constructor(path: string, synced: () => Promise<void>) {
    this.#path = path;
    this.#synced = synced;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.stop();
  }

  readonly #ask: Thread<ReaderCalls>["ask"] = async (method, ...args) => {
    if (this.#isClosed) throw closedError();
    try {
      this.#thread ??= new Thread<ReaderCalls>("storage/sqlite/reading/reader-thread", {
        startData: this.#path,
        errors: { CursorProblem, StaleCursor },
        onLost: () => {
          this.#thread = undefined;
        },
        keepsProcessAlive: false,
      });
      const result = await this.#thread.ask(method, ...args);
      // The thread can read what is committed and not yet durable.
      await this.#synced();
      return result;
    } catch (error) {
      throw this.#isClosed ? closedError() : error;
    }
  };
}
