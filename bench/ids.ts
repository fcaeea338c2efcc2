// npm run bench:ids [-- MILLIONS …] [--quick] [--write]
// What a plant costs the WAL with sequential and with random ids, on stores of that many million plants (0 and 1 by default): frames,
// bytes of an fsync, and pages that a checkpoint writes. They are counted in the WAL itself, so other work on the machine changes only
// the times.
import type { Database } from "bun:sqlite";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../src/storage/sqlite/writing/open-writer.ts";
import { SqlitePlants } from "../src/storage/sqlite/writing/sqlite-plants.ts";
import { Writer } from "../src/storage/sqlite/writing/writer.ts";
import { fill } from "./growth.ts";
import { ownOptions } from "./options.ts";
import type { IdOrderCost } from "./report-create-path.ts";
import { saveResults } from "./results.ts";
import { temporaryFolder } from "./servers.ts";
import { countFrames, expectedLeaves } from "./wal-frames.ts";

const options = ownOptions();
const sizes = options.positional.length > 0 ? options.positional.map(Number) : [0, options.quick ? 0.05 : 1];
const plants = options.quick ? 4096 : 65_536;
// As the service's checkpointer does.
const framesPerCheckpoint = 4000;
const folder = temporaryFolder();
const ids: IdOrderCost[] = [];
for (const millions of sizes)
  for (const order of ["sequential", "random"] as const)
    for (const batch of [64, 256]) ids.push(await measure(order, millions, batch));
rmSync(folder, { recursive: true, force: true });
for (const cost of ids)
  console.log(
    `${cost.order} ids, ${cost.millions} million, batches of ${cost.batch}: ${cost.framesPerPlant.toFixed(2)} frames per plant (${cost.indexLeavesPerPlant.toFixed(2)} leaves of the index, ${cost.expectedLeavesPerPlant.toFixed(2)} expected), ${cost.walBytesPerFsync.toFixed(0)} bytes per fsync, ${cost.pagesPerPlant.toFixed(2)} data pages per plant; insert ${cost.insertUs.toFixed(1)} µs, commit ${cost.commitUs.toFixed(1)} µs`,
  );
saveResults({ ids }, options);

async function measure(
  order: "sequential" | "random",
  millions: number,
  batch: number,
): Promise<IdOrderCost> {
  const path = join(folder, `${order}-${millions}-${batch}.db`);
  const stored = millions * 1_000_000;
  fill(path, stored, order);
  // Without the checkpointer, so that the WAL holds every frame.
  const database = openDatabase(path, { create: false, migrate: false });
  const leavesBefore = leavesOfIndex(database);
  let commitMs = 0;
  const committed = (tookMs: number): void => {
    commitMs += tookMs;
  };
  const outcomeUnknown = <Reason>(reason: Reason): Reason => reason;
  const store = new SqlitePlants(database, new Writer(database, { committed, outcomeUnknown }), {});
  const newIds = idsOf(order, stored);
  const startMs = performance.now();
  for (let first = 0; first < plants; first += batch) {
    const arrivals = Array.from({ length: batch }, (_, index) => {
      const number = first + index;
      const plant = { id: newIds[number] ?? 0n, name: `Fern number ${stored + number}`, tag: "indoor" };
      return { plant, createdBy: "preset-access" };
    });
    await store.create(arrivals, Date.now());
  }
  const insertMs = performance.now() - startMs - commitMs;
  const wal = readFileSync(`${path}-wal`);
  const { frames, bytes, checkpointedPages, indexLeaves } = countFrames(wal, framesPerCheckpoint);
  const leavesAfter = leavesOfIndex(database);
  database.close();
  rmSync(path);
  const commits = plants / batch;
  return {
    order,
    millions,
    batch,
    framesPerPlant: frames / plants,
    indexLeavesPerPlant: indexLeaves / plants,
    expectedLeavesPerPlant:
      order === "sequential" ? 1 / batch : meanExpected(leavesBefore, leavesAfter, batch),
    walBytesPerPlant: bytes / plants,
    walBytesPerFsync: bytes / commits,
    pagesPerPlant: checkpointedPages / plants,
    insertUs: (insertMs * 1000) / plants,
    commitUs: (commitMs * 1000) / plants,
  };
}

/** Really random; the load's are spread evenly, which changes a few more leaves. */
function idsOf(order: "sequential" | "random", stored: number): BigInt64Array {
  const ids = new BigInt64Array(plants);
  if (order === "sequential") return ids.map((_, index) => BigInt(stored + index + 1));
  // The limit per call.
  const chunk = 8192;
  for (let at = 0; at < plants; at += chunk) crypto.getRandomValues(ids.subarray(at, at + chunk));
  return ids;
}

function leavesOfIndex(database: Database): number {
  const sql =
    "SELECT count(*) AS leaves FROM dbstat WHERE name = 'sqlite_autoindex_plants_1' AND pagetype = 'leaf'";
  return Number(database.query<{ leaves: bigint }, []>(sql).get()?.leaves ?? 0n);
}

/** The index grows during the run, evenly with random ids. */
function meanExpected(before: number, after: number, batch: number): number {
  const steps = plants / batch;
  const at = (step: number): number => expectedLeaves(before + ((after - before) * step) / steps, batch);
  return Array.from({ length: steps }, (_, step) => at(step)).reduce((sum, share) => sum + share, 0) / steps;
}
