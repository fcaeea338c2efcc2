import { setTimeout as sleep } from "node:timers/promises";
import { type Arrival, type PlantStore, type Result, StoreUnavailable } from "../../plants/plant-store.ts";
import { type Connections, type Run, retryWaitMs } from "./connections.ts";
import { codeOf, diskFullCode, mayRetry, maySplit, RowLocked, reasonOf } from "./faults.ts";
import { storeSearching, storeWaiting } from "./insert-plants.ts";
import { WriteProbe } from "./write-probe.ts";

// Below common client timeouts; the database may restart or fail over within it unnoticed.
const createMsMax = 5000;
// Bounds one statement. A batch of very large plants needs several.
const statementCharactersMax = 4 * 1024 * 1024;
// A plant of several megabytes is slow because of its size, not because the server is unreachable.
const charactersPerExtraSecond = 1024 * 1024;
// A healthy server answers within this. A statement that the deadline interrupts costs its connection.
const partMsMin = 500;

/** Plants in PostgreSQL. Any number of processes may write; the database decides between them. */
export class PostgresPlants implements PlantStore, Disposable {
  readonly batchesInFlightMax: number;
  readonly canBecomeUnreachable = true;
  readonly #connections: Connections;
  readonly #writeProbe: WriteProbe;
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
    const deadlineMs = performance.now() + createMsMax + extraMsOf(batch);
    try {
      const results: Result[] = [];
      for (const [index, slice] of slices(batch).entries()) {
        const stored =
          index === 0
            ? this.#store(slice, createdAtMs, deadlineMs)
            : this.#storePart(slice, createdAtMs, deadlineMs, false);
        results.push(...(await stored));
      }
      if (results.some((result) => result !== "store-unavailable" && result.kind === "created"))
        this.#writeProbe.plantsStored();
      return results;
    } catch (error) {
      throw this.#failed(error);
    }
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

  // One row that is refused or locked fails its statement, so the batch is halved, in order, until that row is on its own.
  async #store(
    batch: readonly Arrival[],
    createdAtMs: number,
    deadlineMs: number,
    searching = false,
  ): Promise<readonly Result[]> {
    const leftMs = deadlineMs - performance.now();
    const work = (run: Run) =>
      searching ? storeSearching(run, batch, createdAtMs) : storeWaiting(run, batch, createdAtMs);
    try {
      return await this.#connections.use(leftMs, work, extraMsOf(batch));
    } catch (error) {
      const isLocked = error instanceof RowLocked;
      if (!isLocked && !maySplit(error)) throw error;
      if (batch.length === 1)
        return isLocked ? ["store-unavailable"] : [{ kind: "failed", reason: reasonOf(error) }];
      const middle = Math.ceil(batch.length / 2);
      const halves = [batch.slice(0, middle), batch.slice(middle)];
      const results: Result[] = [];
      for (const half of halves)
        results.push(...(await this.#storePart(half, createdAtMs, deadlineMs, searching || isLocked)));
      return results;
    }
  }

  // Parts that were stored are answered as stored, even if the time is over before the rest.
  async #storePart(
    part: readonly Arrival[],
    createdAtMs: number,
    deadlineMs: number,
    searching: boolean,
  ): Promise<readonly Result[]> {
    const unavailable = () => part.map((): Result => "store-unavailable");
    if (deadlineMs - performance.now() < partMsMin) return unavailable();
    try {
      return await this.#store(part, createdAtMs, deadlineMs, searching);
    } catch (error) {
      if (performance.now() < deadlineMs) throw error;
      return unavailable();
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

function slices(batch: readonly Arrival[]): (readonly Arrival[])[] {
  const found: Arrival[][] = [[]];
  let characters = 0;
  for (const arrival of batch) {
    const { name, tag = "" } = arrival.plant;
    characters += name.length + tag.length;
    if (characters > statementCharactersMax) {
      characters = name.length + tag.length;
      found.push([]);
    }
    found.at(-1)?.push(arrival);
  }
  return found;
}

// None for plants of an ordinary size, however many: with an unreachable server, they wait no longer than promised.
function extraMsOf(batch: readonly Arrival[]): number {
  let seconds = 0;
  for (const { plant } of batch)
    seconds += Math.floor((plant.name.length + (plant.tag?.length ?? 0)) / charactersPerExtraSecond);
  return seconds * 1000;
}
