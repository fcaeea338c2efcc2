import {
  CursorProblem,
  type FollowRequest,
  type PageRequest,
  type PlantArchive,
  type PlantFilter,
  type PlantPage,
  StaleCursor,
} from "../../../plants/plant-archive.ts";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import { Thread } from "../../../threads/thread.ts";
import { searchInParallel } from "./parallel-search.ts";
import { isSearch, type SqliteArchive, seqOf } from "./sqlite-archive.ts";

type ArchiveThread = Thread<SqliteArchive>;

// One for quick reads and one for slow ones, such as counting tags.
const threadsMax = 2;
// While the results of one search are merged, its thread already has the next.
const searchesPerThread = 2;
// An idle thread is stopped after this long, so that an unused one holds no memory.
const idleMsMax = 60_000;

/** Reads SQLite from other threads, so that no search or count delays the one that writes. They start when first needed. */
export class ThreadedArchive implements PlantArchive {
  readonly #path: string;
  readonly #synced: () => Promise<void>;
  readonly #threads = new Set<ArchiveThread>();
  readonly #idle: ArchiveThread[] = [];
  readonly #waiting: PromiseWithResolvers<ArchiveThread>[] = [];
  #idleTimer: NodeJS.Timeout | undefined;
  #closed = false;

  /** `synced`: resolves once everything is durable that could be read when it was called. */
  constructor(path: string, synced: () => Promise<void>) {
    this.#path = path;
    this.#synced = synced;
  }

  async page(request: PageRequest): Promise<PlantPage> {
    if (!isSearch(request.filter)) return this.#use((thread) => thread.ask("page", request));
    const newestFirst = request.order === "newest-first";
    const { newest } = await this.#use((thread) => thread.ask("page", { ...request, filter: {}, limit: 1 }));
    const last = await this.total();
    const start = request.cursor === undefined ? undefined : seqOf(request.cursor);
    const found = await searchInParallel({
      cursor: newestFirst ? Math.min(start ?? last + 1, last + 1) : Math.min(start ?? 0, last),
      stop: newestFirst ? 1 : last,
      limit: request.limit,
      searchMsMax: request.searchMsMax,
      searchesMax: threadsMax * searchesPerThread,
      search: ({ cursor, stop }, limit) =>
        this.#use((thread) => thread.ask("page", { ...request, cursor: String(cursor), limit }, stop)),
    });
    return { ...found, newest };
  }

  pageAfter = (request: FollowRequest) => this.#use((thread) => thread.ask("pageAfter", request));

  find = (id: bigint) => this.#use((thread) => thread.ask("find", id));
  findAll = (ids: readonly bigint[]) => this.#use((thread) => thread.ask("findAll", ids));
  total = () => this.#use((thread) => thread.ask("total"));
  createdPerBucket = (fromMs: number, buckets: number, bucketMs: number) =>
    this.#use((thread) => thread.ask("createdPerBucket", fromMs, buckets, bucketMs));
  count = (filter: PlantFilter, cursor: string | undefined, msMax: number) =>
    this.#use((thread) => thread.ask("count", filter, cursor, msMax));
  arrivedSince = (cursor: string | undefined, limit: number) =>
    this.#use((thread) => thread.ask("arrivedSince", cursor, limit));
  diskUsage = () => this.#use((thread) => thread.ask("diskUsage"));

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idleTimer);
    for (const { reject } of this.#waiting.splice(0)) reject(closedProblem());
    await Promise.all([...this.#threads].map((thread) => thread.stop()));
  }

  /** One call at a time for each thread, so that the next goes to the first that is free. */
  async #use<Result>(work: (thread: ArchiveThread) => Promise<Result>): Promise<Result> {
    if (this.#closed) throw closedProblem();
    const turn = Promise.withResolvers<ArchiveThread>();
    this.#waiting.push(turn);
    this.#next();
    const thread = await turn.promise;
    try {
      const result = await work(thread);
      // A thread can read what is committed and not yet durable.
      await this.#synced();
      return result;
    } finally {
      if (this.#threads.has(thread)) this.#idle.push(thread);
      this.#stopIdleLater();
      this.#next();
    }
  }

  #next(): void {
    if (this.#waiting.length === 0) return;
    try {
      const thread = this.#idle.pop() ?? (this.#threads.size < threadsMax ? this.#start() : undefined);
      if (thread !== undefined) this.#waiting.shift()?.resolve(thread);
    } catch {
      // The system cannot start another thread. Running threads serve the queue; if there are none, it is refused.
      const unanswered = this.#threads.size === 0 ? this.#waiting.splice(0) : [];
      for (const { reject } of unanswered) reject(new StoreUnavailable("no thread could be started"));
    }
  }

  #start(): ArchiveThread {
    const thread: ArchiveThread = new Thread("storage/sqlite/reading/archive-thread", {
      setting: this.#path,
      errors: { CursorProblem, StaleCursor },
      onLost: () => this.#remove(thread),
      keepsProcessAlive: false,
    });
    this.#threads.add(thread);
    return thread;
  }

  #stopIdleLater(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      for (const thread of [...this.#idle]) {
        this.#remove(thread);
        void thread.stop();
      }
    }, idleMsMax).unref();
  }

  #remove(thread: ArchiveThread): void {
    this.#threads.delete(thread);
    const at = this.#idle.indexOf(thread);
    if (at >= 0) this.#idle.splice(at, 1);
  }
}

function closedProblem(): StoreUnavailable {
  return new StoreUnavailable("the store is being closed");
}
