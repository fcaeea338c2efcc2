import { setTimeout as sleep } from "node:timers/promises";
import { differingFields, type NewPlant, type Plant } from "../../plants/plant.ts";
import { type Arrival, type Outcome, type PlantStore, StoreUnavailable } from "../../plants/plant-store.ts";
import type { Row } from "./connection.ts";
import { type Connections, type Run, retryWaitMs } from "./connections.ts";
import { codeOf, mayRetry, maySplit, reasonOf } from "./faults.ts";
import { WriteProbe } from "./write-probe.ts";

// Below what a client waits for an answer; the database may restart or hand over within it unnoticed.
const createMsMax = 5000;
// One statement's worth. Plants as large as a body may be come in several; nearly always all fit into one.
const statementCharactersMax = 4 * 1024 * 1024;
// A plant of several megabytes is slow because of its size, and not because the server is away.
const charactersPerExtraSecond = 1024 * 1024;
// A plant that lost its id to another is there to be read, unless someone deletes it in between.
const readTriesMax = 5;

const insert = {
  name: "insert-plants",
  text: `INSERT INTO plants (id, name, tag, created_at_ms, created_by)
         SELECT id, name, tag, created_at_ms, created_by
           FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
             AS arrived (id, name, tag, created_by, created_at_ms)
         ON CONFLICT (id) DO NOTHING
         RETURNING id`,
};
// The lock is a write, so its commit waits until all before it is on disk and on the standby. Without it, a plant could
// be acknowledged that a commit not yet flushed, or a cancelled wait for the standby, has only just made visible.
const read = {
  name: "read-plants",
  text: "SELECT id, name, tag FROM plants WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE",
};
const notSupported = "0A000";
const diskFull = "53100";

const created: Outcome = { kind: "created" };
const replayed: Outcome = { kind: "replayed" };

/** Plants in PostgreSQL. Any number of processes may write; the database decides between them. */
export class PostgresPlants implements PlantStore, Disposable {
  readonly batchesInFlightMax: number;
  readonly mayVanish = true;
  readonly #connections: Connections;
  readonly #writeProbe: WriteProbe;
  #away: Error | undefined;
  #closed = false;

  constructor(connections: Connections, batchesInFlightMax: number) {
    this.#connections = connections;
    this.#writeProbe = new WriteProbe(connections);
    this.batchesInFlightMax = batchesInFlightMax;
  }

  async create(batch: readonly Arrival[], createdAtMs: number): Promise<readonly Outcome[]> {
    // Whoever waits in the queue behind a batch that has used up its time is answered at once.
    if (this.#away !== undefined) throw new StoreUnavailable(this.#away.message);
    const deadlineMs = performance.now() + createMsMax + extraMsOf(batch);
    try {
      const outcomes: Outcome[] = [];
      for (const slice of slices(batch)) {
        outcomes.push(...(await this.#store(slice, createdAtMs, deadlineMs)));
      }
      return outcomes;
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async probe(): Promise<void> {
    if (this.#away !== undefined) throw new StoreUnavailable(this.#away.message);
    try {
      await this.#writeProbe.run();
    } catch (error) {
      throw new StoreUnavailable(reasonOf(error), { cause: error });
    }
  }

  /** Until it is resumed, everything is refused at once. */
  suspend(reason: string): void {
    this.#away = new StoreUnavailable(reason);
  }

  resume(): void {
    this.#away = undefined;
  }

  [Symbol.dispose](): void {
    this.#closed = true;
  }

  // One row that the database refuses fails its whole statement, so the batch is halved, in order, until the row is alone.
  async #store(
    batch: readonly Arrival[],
    createdAtMs: number,
    deadlineMs: number,
  ): Promise<readonly Outcome[]> {
    const leftMs = deadlineMs - performance.now();
    try {
      return await this.#connections.use(leftMs, (run) => store(run, batch, createdAtMs), extraMsOf(batch));
    } catch (error) {
      if (!maySplit(error)) throw error;
      if (batch.length === 1) return [{ kind: "failed", reason: reasonOf(error) }];
      const middle = Math.ceil(batch.length / 2);
      const first = await this.#store(batch.slice(0, middle), createdAtMs, deadlineMs);
      return [...first, ...(await this.#store(batch.slice(middle), createdAtMs, deadlineMs))];
    }
  }

  // Never in doubt: whatever became of the batch, sending it again finds out, from any process.
  #failed(error: unknown): StoreUnavailable {
    const failure = new StoreUnavailable(reasonOf(error), { cause: error });
    if (codeOf(error) === diskFull) this.#writeProbe.doubtRoom();
    if (mayRetry(error) && this.#away === undefined) {
      this.#away = failure;
      void this.#comeBack();
    }
    return failure;
  }

  async #comeBack(): Promise<void> {
    for (let attempt = 0; this.#away !== undefined && !this.#closed; attempt++) {
      try {
        await this.#writeProbe.run();
        this.#away = undefined;
      } catch {
        await sleep(retryWaitMs(attempt), undefined, { ref: false });
      }
    }
  }
}

async function store(run: Run, batch: readonly Arrival[], createdAtMs: number): Promise<Outcome[]> {
  const firsts = firstOfEachId(batch);
  // In the order of ids, so that two batches that share some cannot wait for each other.
  let missing = [...firsts.values()].sort((one, other) => (one.plant.id < other.plant.id ? -1 : 1));
  const stored = new Map<bigint, Plant>();
  const own = new Set<bigint>();
  for (let tries = 0; missing.length > 0; tries++) {
    if (tries === readTriesMax) throw new StoreUnavailable("a plant was neither stored nor found");
    for (const [id] of await run(insert, columns(missing, createdAtMs))) own.add(BigInt(id ?? ""));
    missing = missing.filter(({ plant }) => !own.has(plant.id));
    if (missing.length === 0) break;
    // In a statement of its own: the one before does not see what was committed after it began.
    for (const [id, name, tag] of await readLocked(
      run,
      missing.map(({ plant }) => plant.id),
    ))
      stored.set(BigInt(id ?? ""), { name: name ?? "", tag: tag ?? undefined });
    missing = missing.filter(({ plant }) => !stored.has(plant.id));
  }
  return batch.map((arrival) => {
    const { plant } = arrival;
    const first = firsts.get(plant.id);
    if (own.has(plant.id)) return first === arrival ? created : compared(plant, first?.plant);
    return compared(plant, stored.get(plant.id));
  });
}

async function readLocked(run: Run, ids: readonly bigint[]): Promise<readonly Row[]> {
  try {
    return await run(read, [ids]);
  } catch (error) {
    // Citus locks rows of one shard at a time and no more; then they are read one by one.
    if (codeOf(error) !== notSupported || ids.length === 1) throw error;
    const rows: Row[] = [];
    for (const id of ids) rows.push(...(await run(read, [[id]])));
    return rows;
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

// None for plants of an ordinary size, however many: with the server away, they wait no longer than promised.
function extraMsOf(batch: readonly Arrival[]): number {
  let seconds = 0;
  for (const { plant } of batch)
    seconds += Math.floor((plant.name.length + (plant.tag?.length ?? 0)) / charactersPerExtraSecond);
  return seconds * 1000;
}

function firstOfEachId(batch: readonly Arrival[]): Map<bigint, Arrival> {
  const firsts = new Map<bigint, Arrival>();
  for (const arrival of batch) if (!firsts.has(arrival.plant.id)) firsts.set(arrival.plant.id, arrival);
  return firsts;
}

function columns(arrivals: readonly Arrival[], createdAtMs: number): unknown[] {
  return [
    arrivals.map(({ plant }) => plant.id),
    arrivals.map(({ plant }) => plant.name),
    arrivals.map(({ plant }) => plant.tag ?? null),
    arrivals.map(({ createdBy }) => createdBy),
    arrivals.map(({ createdAtMs: ownMs }) => ownMs ?? createdAtMs),
  ];
}

function compared(plant: NewPlant, stands: Plant | undefined): Outcome {
  if (stands === undefined) throw new StoreUnavailable("a plant was neither stored nor found");
  const differing = differingFields(plant, stands);
  return differing.length === 0 ? replayed : { kind: "taken", differing };
}
