import { differingFields, type NewPlant, type Plant } from "../../plants/plant.ts";
import { type Arrival, type Outcome, StoreUnavailable } from "../../plants/plant-store.ts";
import type { Row } from "./connection.ts";
import type { Run } from "./connections.ts";
import { codeOf, isLockTimeout, RowLocked, reasonOf } from "./faults.ts";
import { lockMsMax } from "./open-connection.ts";
import { takeWriteLock } from "./write-probe.ts";

// A plant whose id exists can be read, unless someone deletes it in between.
const readTriesMax = 5;
// Once a row is known to be locked, finding it among a thousand must not use up the batch's time.
const searchLockMsMax = 100;

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
const setLockTimeout = { text: "SELECT set_config('lock_timeout', $1, false)" };
const notSupported = "0A000";

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
  await run(setLockTimeout, [searchLockMsMax]);
  try {
    return await store(run, batch, createdAtMs);
  } catch (error) {
    throw isLockTimeout(error) ? new RowLocked(reasonOf(error)) : error;
  } finally {
    await run(setLockTimeout, [lockMsMax]);
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
    if (own.has(plant.id)) return first === arrival ? created : compare(plant, first?.plant);
    return compare(plant, stored.get(plant.id));
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

function compare(plant: NewPlant, stored: Plant | undefined): Outcome {
  if (stored === undefined) throw new StoreUnavailable("a plant was neither stored nor found");
  const differing = differingFields(plant, stored);
  return differing.length === 0 ? replayed : { kind: "conflict", differing };
}
