import { differingFields, type NewPlant, type Plant } from "../../plants/plant.ts";
import { type Arrival, type Outcome, StoreUnavailable } from "../../plants/plant-store.ts";
import { inTransaction, type Run } from "./connections.ts";
import { isLockTimeout, RowLocked, reasonOf } from "./faults.ts";
import { citusStatements, postgresStatements } from "./plant-statements.ts";
import { takeWriteLock } from "./write-probe.ts";

// A plant whose id exists can be read, unless someone deletes it in between.
const readTriesMax = 5;
// Once a row is known to be locked, finding it among a thousand must not use up the batch's time.
const searchLockMsMax = 100;

// Local, since Citus passes only such a setting on to its workers.
const shortenLocks = { text: `SET LOCAL lock_timeout = ${searchLockMsMax}` };

const created: Outcome = { kind: "created" };
const replayed: Outcome = { kind: "replayed" };

/**
 * Stores a batch, and waits for locks as long as the session's lock_timeout allows.
 * @throws RowLocked a row is locked. A locked table is a failure that a retry may resolve.
 */
export async function storeWaiting(
  run: Run,
  batch: readonly Arrival[],
  createdAtMs: number,
): Promise<Outcome[]> {
  try {
    return await store(run, batch, createdAtMs);
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    await run(takeWriteLock, []);
    throw new RowLocked(reasonOf(error));
  }
}

/** The same for a part of a batch in which some row is locked. */
export async function storeSearching(
  run: Run,
  batch: readonly Arrival[],
  createdAtMs: number,
): Promise<Outcome[]> {
  try {
    return await inTransaction(run, async () => {
      await run(shortenLocks, []);
      return store(run, batch, createdAtMs);
    });
  } catch (error) {
    throw isLockTimeout(error) ? new RowLocked(reasonOf(error)) : error;
  }
}

async function store(run: Run, batch: readonly Arrival[], createdAtMs: number): Promise<Outcome[]> {
  const statements = run.isCitus ? citusStatements : postgresStatements;
  const firsts = firstOfEachId(batch);
  // In the order of ids, so that two batches that share some cannot wait for each other.
  let missing = [...firsts.values()].sort((one, other) => (one.plant.id < other.plant.id ? -1 : 1));
  const stored = new Map<bigint, Plant>();
  const own = new Set<bigint>();
  for (let tries = 0; missing.length > 0; tries++) {
    if (tries === readTriesMax) throw new StoreUnavailable("a plant was neither stored nor found");
    for (const [id] of await statements.insert(run, missing, createdAtMs)) own.add(BigInt(id ?? ""));
    missing = missing.filter(({ plant }) => !own.has(plant.id));
    if (missing.length === 0) break;
    // In a statement of its own: the one before does not see what was committed after it began.
    const ids = missing.map(({ plant }) => plant.id);
    for (const [id, name, tag] of await statements.read(run, ids))
      stored.set(BigInt(id ?? ""), { name: name ?? "", tag: tag ?? undefined });
    missing = missing.filter(({ plant }) => !stored.has(plant.id));
  }
  return batch.map((arrival) => {
    const { plant } = arrival;
    const first = firsts.get(plant.id);
    if (own.has(plant.id)) return first === arrival ? created : compare(plant, first?.plant);
    return compare(plant, stored.get(plant.id));
  });
}

function firstOfEachId(batch: readonly Arrival[]): Map<bigint, Arrival> {
  const firsts = new Map<bigint, Arrival>();
  for (const arrival of batch) if (!firsts.has(arrival.plant.id)) firsts.set(arrival.plant.id, arrival);
  return firsts;
}

function compare(plant: NewPlant, stored: Plant | undefined): Outcome {
  if (stored === undefined) throw new StoreUnavailable("a plant was neither stored nor found");
  const differing = differingFields(plant, stored);
  return differing.length === 0 ? replayed : { kind: "conflict", differing };
}
