import {
  CursorProblem,
  type FollowRequest,
  type PageRequest,
  type PlantArchive,
  type PlantFilter,
  StaleCursor,
} from "../../../plants/plant-archive.ts";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import { Thread } from "../thread.ts";
import type { SqliteArchive } from "./sqlite-archive.ts";

// The thread is stopped after this long without a read, so that an unused one holds no memory.
const idleMsMax = 60_000;

/**
 * Reads SQLite on a thread of its own, so that no search or count delays the one that writes. It starts with the first read, and
 * reads one after the other: each is short, or returns what it has found in time.
 */
export class ThreadedArchive implements PlantArchive {
  readonly #path: string;
  readonly #synced: () => Promise<void>;
  #thread: Thread<SqliteArchive> | undefined;
  #reads = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #closed = false;

  /** `synced`: resolves once everything is durable that could be read when it was called. */
  constructor(path: string, synced: () => Promise<void>) {
    this.#path = path;
    this.#synced = synced;
  }

  page = (request: PageRequest) => this.#ask("page", request);
  pageAfter = (request: FollowRequest) => this.#ask("pageAfter", request);
  find = (id: bigint) => this.#ask("find", id);
  findAll = (ids: readonly bigint[]) => this.#ask("findAll", ids);
  total = () => this.#ask("total");
  createdPerBucket = (fromMs: number, buckets: number, bucketMs: number) =>
    this.#ask("createdPerBucket", fromMs, buckets, bucketMs);
  count = (filter: PlantFilter, cursor: string | undefined, msMax: number) =>
    this.#ask("count", filter, cursor, msMax);
  diskUsage = () => this.#ask("diskUsage");

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idleTimer);
    await this.#thread?.stop();
  }

  readonly #ask: Thread<SqliteArchive>["ask"] = async (method, ...values) => {
    if (this.#closed) throw closedProblem();
    clearTimeout(this.#idleTimer);
    this.#thread ??= this.#start();
    this.#reads++;
    try {
      const result = await this.#thread.ask(method, ...values);
      // The thread can read what is committed and not yet durable.
      await this.#synced();
      return result;
    } catch (error) {
      throw this.#closed ? closedProblem() : error;
    } finally {
      this.#reads--;
      if (this.#reads === 0 && !this.#closed) this.#stopLater();
    }
  };

  #start(): Thread<SqliteArchive> {
    try {
      return new Thread<SqliteArchive>("storage/sqlite/reading/archive-thread", {
        setting: this.#path,
        errors: { CursorProblem, StaleCursor },
        onLost: () => {
          this.#thread = undefined;
        },
        keepsProcessAlive: false,
      });
    } catch {
      throw new StoreUnavailable("no thread could be started");
    }
  }

  #stopLater(): void {
    this.#idleTimer = setTimeout(() => {
      void this.#thread?.stop();
      this.#thread = undefined;
    }, idleMsMax).unref();
  }
}

function closedProblem(): StoreUnavailable {
  return new StoreUnavailable("the store is being closed");
}
