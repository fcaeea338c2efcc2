import {
  type Arrivals,
  CursorProblem,
  type DiskUsage,
  type PageRequest,
  type PlantArchive,
  type PlantPage,
  type StoredPlant,
  type TagCount,
} from "../../../plants/plant-archive.ts";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import { ended, endThread } from "../end-thread.ts";
import { searchWindows } from "./parallel-search.ts";
import { isSearch, seqOf } from "./sqlite-archive.ts";

export interface ArchiveQuestion {
  readonly method: keyof PlantArchive;
  readonly values: readonly unknown[];
}

export type ArchiveAnswer =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "wrong-cursor" | "failed"; readonly message: string };

interface Asked extends ArchiveQuestion {
  readonly settled: PromiseWithResolvers<unknown>;
}

// One for what is quick and one for what takes its time, such as counting tags.
const threadsMax = 2;
// One to search and one to go on with, so that none waits while the results of another are put in order.
const windowsPerThread = 2;
// Nobody looking, nothing kept: a thread is ended when it had nothing to do for so long.
const idleMsMax = 60_000;

/**
 * Looking into SQLite from threads of their own, so that no search or count holds up the one that takes plants in. They
 * begin with the first question.
 */
export class ThreadedArchive implements PlantArchive {
  readonly #path: string;
  readonly #idle: Worker[] = [];
  readonly #busy = new Map<Worker, Asked>();
  readonly #waiting: Asked[] = [];
  #rest: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(path: string) {
    this.#path = path;
  }

  async page(request: PageRequest): Promise<PlantPage> {
    if (!isSearch(request.filter)) return this.#ask<PlantPage>("page", request);
    const newestFirst = request.order === "newest-first";
    const last = await this.total();
    const begin = request.cursor === undefined ? undefined : seqOf(request.cursor);
    return searchWindows({
      cursor: newestFirst ? Math.min(begin ?? last + 1, last + 1) : Math.min(begin ?? 0, last),
      stop: newestFirst ? 1 : last,
      limit: request.limit,
      searchMsMax: request.searchMsMax,
      windowsAtOnce: threadsMax * windowsPerThread,
      look: ({ cursor, stop }, limit) =>
        this.#ask<PlantPage>("page", { ...request, cursor: String(cursor), limit }, stop),
    });
  }

  find = (id: bigint) => this.#ask<StoredPlant | undefined>("find", id);
  findAll = (ids: readonly bigint[]) => this.#ask<readonly StoredPlant[]>("findAll", ids);
  total = () => this.#ask<number>("total");
  createdPerMinute = (fromMs: number, minutes: number) =>
    this.#ask<readonly number[]>("createdPerMinute", fromMs, minutes);
  topTags = (limit: number) => this.#ask<readonly TagCount[]>("topTags", limit);
  arrivedSince = (cursor: string | undefined, limit: number) =>
    this.#ask<Arrivals>("arrivedSince", cursor, limit);
  diskUsage = () => this.#ask<DiskUsage>("diskUsage");

  async end(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#rest);
    for (const { settled } of this.#waiting)
      settled.reject(new StoreUnavailable("the store is being closed"));
    await Promise.all([...this.#idle, ...this.#busy.keys()].map(ended));
  }

  #ask<Result>(method: keyof PlantArchive, ...values: readonly unknown[]): Promise<Result> {
    const settled = Promise.withResolvers<unknown>();
    if (this.#closed) settled.reject(new StoreUnavailable("the store is being closed"));
    this.#waiting.push({ method, values, settled });
    this.#next();
    return settled.promise as Promise<Result>;
  }

  #next(): void {
    if (this.#closed || this.#waiting.length === 0) return;
    const thread = this.#idle.pop() ?? this.#another();
    const asked = thread && this.#waiting.shift();
    if (thread === undefined || asked === undefined) return;
    this.#busy.set(thread, asked);
    const question: ArchiveQuestion = { method: asked.method, values: asked.values };
    thread.postMessage(question);
  }

  #another(): Worker | undefined {
    if (this.#busy.size >= threadsMax) return undefined;
    try {
      return this.#start();
    } catch {
      // The system has no thread left to give. Those there are go on with what waits; without any, nobody would.
      const unanswered = this.#busy.size === 0 ? this.#waiting.splice(0) : [];
      for (const { settled } of unanswered)
        settled.reject(new StoreUnavailable("no thread could be started"));
      return undefined;
    }
  }

  #start(): Worker {
    const thread = new Worker(new URL("./archive-thread.ts", import.meta.url).href, { ref: false });
    thread.postMessage(this.#path);
    thread.onmessage = ({ data }: MessageEvent<ArchiveAnswer | typeof endThread>) => {
      if (data === endThread) return;
      const asked = this.#busy.get(thread);
      this.#busy.delete(thread);
      this.#idle.push(thread);
      settle(asked, data);
      this.#restLater();
      this.#next();
    };
    const lost = (reason: string): void => {
      const asked = this.#busy.get(thread);
      this.#busy.delete(thread);
      const at = this.#idle.indexOf(thread);
      if (at >= 0) this.#idle.splice(at, 1);
      settle(asked, { kind: "failed", message: reason });
      this.#next();
    };
    thread.addEventListener("error", (event) => {
      event.preventDefault();
      lost(event.message);
    });
    thread.addEventListener("close", () => lost("the thread ended"));
    return thread;
  }

  #restLater(): void {
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => {
      for (const thread of this.#idle.splice(0)) void ended(thread);
    }, idleMsMax).unref();
  }
}

function settle(asked: Asked | undefined, answer: ArchiveAnswer): void {
  if (answer.kind === "result") asked?.settled.resolve(answer.result);
  else if (answer.kind === "wrong-cursor") asked?.settled.reject(new CursorProblem(answer.message));
  else asked?.settled.reject(new Error(answer.message));
}
