import { setTimeout as sleep } from "node:timers/promises";
import { type Arrival, type PlantStore, type Result, StoreUnavailable } from "../../plants/plant-store.ts";
import { type Connections, type Run, retryWaitMs } from "./connections.ts";
import { codeOf, diskFullCode, mayRetry, maySplit, RowLocked, reasonOf, StatementTimeout } from "./faults.ts";
import { storeSearching, storeWaiting } from "./insert-plants.ts";
import { StatementSize } from "./statement-size.ts";
import { WriteProbe } from "./write-probe.ts";

// For each statement of a batch. Below common client timeouts; a database that restarts or fails over within it goes unnoticed.
const createMsMax = 5000;
// A plant of several megabytes is slow because of its size, not because the server is unreachable.
const charactersPerExtraSecond = 1024 * 1024;
// A healthy server answers within this. A statement that the deadline interrupts costs its connection.
const partMsMin = 500;

/** Plants in PostgreSQL. Any number of processes may write; the database decides between them. */
export class PostgresPlants implements PlantStore, Disposable {
  readonly batchesInFlightMax: number;
  readonly canBecomeUnreachable = true;
  readonly isStalled = false;
  readonly #connections: Connections;
  readonly #writeProbe: WriteProbe;
  readonly #size = new StatementSize();
  #unavailable: Error | undefined;
  #closed = false;

  constructor(connections: Connections, batchesInFlightMax: number) {
    this.#connections = connections;
    this.#writeProbe = new WriteProbe(connections);
    this.batchesInFlightMax = batchesInFlightMax;
  }

  async create(batch: readonly Arrival[], createdAtMs: number): Promise<readonly Result[]> {
    // Batches that queued while one used up its time are refused immediately.
    if (this.#unavailable !== undefined) throw new StoreUnavailable(this.#unavailable.message);
    const results: Result[] = [];
    const startMs = performance.now();
    // As long as statements succeed, however slowly, the rest of the batch is sent as well.
    while (results.length < batch.length) {
      const rest = results.length === 0 ? batch : batch.slice(results.length);
      // With its own time: a client that follows the store expects a plant to be committed soon after its time.
      const passedMs = Math.floor(performance.now() - startMs);
      try {
        results.push(...(await this.#storeFirst(rest, createdAtMs + passedMs)));
      } catch (error) {
        const failure = this.#failed(error);
        if (results.length === 0) throw failure;
        results.push(...unavailable(rest));
      }
    }
    if (results.some((result) => result !== "store-unavailable" && result.kind === "created"))
      this.#writeProbe.plantsStored();
    return results;
  }

  async probe(): Promise<void> {
    if (this.#unavailable !== undefined) throw new StoreUnavailable(this.#unavailable.message);
    try {
      await this.#writeProbe.run();
    } catch (error) {
      throw new StoreUnavailable(reasonOf(error), { cause: error });
    }
  }

  /** Until it is resumed, every batch is refused immediately. */
  suspend(reason: string): void {
    this.#unavailable = new StoreUnavailable(reason);
  }

  resume(): void {
    this.#unavailable = undefined;
  }

  [Symbol.dispose](): void {
    this.#closed = true;
  }

  /** Stores as many as one statement may contain, and returns their results. */
  async #storeFirst(batch: readonly Arrival[], createdAtMs: number): Promise<readonly Result[]> {
    let part = this.#size.firstOf(batch);
    const extraMs = extraMsOf(part);
    const deadlineMs = performance.now() + createMsMax + extraMs;
    const work = async (run: Run): Promise<readonly Result[]> => {
      // Fewer in each attempt if the previous one timed out.
      part = this.#size.firstOf(part);
      const startMs = performance.now();
      try {
        const stored = await storeWaiting(run, part, createdAtMs);
        this.#size.took(part.length, performance.now() - startMs);
        return stored;
      } catch (error) {
        if (error instanceof StatementTimeout) this.#size.timedOut(part.length);
        throw error;
      }
    };
    try {
      return await this.#connections.use(createMsMax + extraMs, work, extraMs);
    } catch (error) {
      return this.#split(part, createdAtMs, deadlineMs, error, false);
    }
  }

  // One row that is refused or locked fails its statement, so the batch is halved, in order, until that row is on its own.
  async #split(
    part: readonly Arrival[],
    createdAtMs: number,
    deadlineMs: number,
    error: unknown,
    searching: boolean,
  ): Promise<readonly Result[]> {
    const isLocked = error instanceof RowLocked;
    if (!isLocked && !maySplit(error)) throw error;
    if (part.length === 1)
      return isLocked ? ["store-unavailable"] : [{ kind: "failed", reason: reasonOf(error) }];
    const middle = Math.ceil(part.length / 2);
    const results: Result[] = [];
    for (const half of [part.slice(0, middle), part.slice(middle)])
      results.push(...(await this.#storePart(half, createdAtMs, deadlineMs, searching || isLocked)));
    return results;
  }

  /**
   * Stores a part of a batch in which some row is refused or locked. Parts that were stored are acknowledged, even if the
   * rest runs out of time.
   */
  async #storePart(
    part: readonly Arrival[],
    createdAtMs: number,
    deadlineMs: number,
    searching: boolean,
  ): Promise<readonly Result[]> {
    const leftMs = deadlineMs - performance.now();
    if (leftMs < partMsMin) return unavailable(part);
    const work = (run: Run) => (searching ? storeSearching : storeWaiting)(run, part, createdAtMs);
    try {
      return await this.#connections
        .use(leftMs, work, extraMsOf(part))
        .catch((error: unknown) => this.#split(part, createdAtMs, deadlineMs, error, searching));
    } catch (error) {
      if (performance.now() < deadlineMs) throw error;
      return unavailable(part);
    }
  }

  // The outcome is never unknown: sending the batch again, from any process, finds out.
  #failed(error: unknown): StoreUnavailable {
    const failure = new StoreUnavailable(reasonOf(error), { cause: error });
    if (codeOf(error) === diskFullCode) this.#writeProbe.diskFull();
    if (mayRetry(error) && this.#unavailable === undefined) {
      this.#unavailable = failure;
      void this.#probeUntilAvailable();
    }
    return failure;
  }

  async #probeUntilAvailable(): Promise<void> {
    for (let attempt = 0; this.#unavailable !== undefined && !this.#closed; attempt++) {
      try {
        await this.#writeProbe.run();
        this.#unavailable = undefined;
      } catch {
        await sleep(retryWaitMs(attempt), undefined, { ref: false });
      }
    }
  }
}

function unavailable(part: readonly Arrival[]): Result[] {
  return part.map(() => "store-unavailable");
}

// None for plants of ordinary size, however many: if the server is unreachable, they wait no longer than promised.
function extraMsOf(batch: readonly Arrival[]): number {
  let seconds = 0;
  for (const { plant } of batch)
    seconds += Math.floor((plant.name.length + (plant.tag?.length ?? 0)) / charactersPerExtraSecond);
  return seconds * 1000;
}
