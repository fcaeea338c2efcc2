// npm run bench:growth [-- MILLIONS …] [--quick] [--write]
// Creates, latency, memory and file size on stores that already hold that many million plants (0, 1 and 10 by default).
import { closeSync, fsyncSync, openSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { BlockSummaries } from "../src/storage/sqlite/block-summaries.ts";
import { openDatabase } from "../src/storage/sqlite/writing/open-writer.ts";
import { ownOptions } from "./options.ts";
import type { GrowthPoint } from "./report.ts";
import { saveResults } from "./results.ts";
import { type Load, load, median, memoryMb, type Server, startOursOn, temporaryFolder } from "./servers.ts";

interface Measure {
  readonly rounds: number;
  readonly seconds: number;
}

interface Store {
  readonly database: string;
  readonly millions: number;
  readonly server: Server;
  readonly bytesPerPlant: number;
  readonly results: Load[];
}

const tags = ["indoor", "outdoor", "herb", "tree", "succulent", "fern", "rare", "balcony"];

/** Stores of all these sizes at once, loaded in interleaved rounds, so that a slow minute of the machine affects all. */
async function measureGrowth(
  sizes: readonly number[],
  order: "sequential" | "random",
  { rounds, seconds }: Measure,
): Promise<readonly GrowthPoint[]> {
  const folder = temporaryFolder();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const stores: Store[] = [];
  for (const millions of sizes) {
    const database = join(folder, `${millions}.db`);
    const plants = millions * 1_000_000;
    console.error(`${order} ids: filling a store with ${millions} million plants`);
    fill(database, plants, order);
    const bytes = statSync(database).size;
    const server = stack.use(await startOursOn(database));
    stores.push({
      database,
      millions,
      server,
      bytesPerPlant: plants === 0 ? 0 : bytes / plants,
      results: [],
    });
  }
  // Filling a large one evicts the others from the page cache, and the first rounds would only measure that.
  for (const { database } of stores) for await (const _ of Bun.file(database).stream());
  const nextIds = sizes.map((millions) => millions * 1_000_000 + 1);
  for (let round = 0; round <= rounds; round++) {
    console.error(`${order} ids: ${round === 0 ? "warming up" : `round ${round} of ${rounds}`}`);
    for (const [index, { server, results }] of stores.entries()) {
      const result = await load(server, { connections: 64, seconds, firstId: nextIds[index] ?? 1, order });
      nextIds[index] = result.nextId;
      if (round > 0) results.push(result);
    }
  }
  return Promise.all(
    stores.map(async ({ millions, server, bytesPerPlant, results }) => ({
      millions,
      order,
      rate: median(results.map(({ rate }) => rate)),
      p50Us: median(results.map(({ p50Us }) => p50Us)),
      p99Us: median(results.map(({ p99Us }) => p99Us)),
      memoryMb: await memoryMb(server.pid),
      bytesPerPlant,
      startMs: server.firstAnswerMs,
    })),
  );
}

/** Plants as the service itself would have stored them, written in bulk. */
export function fill(path: string, count: number, order: "sequential" | "random"): void {
  const database = openDatabase(path, { create: true, migrate: true });
  database.run("PRAGMA synchronous = OFF");
  database.run("PRAGMA cache_size = -200000");
  const insert = database.query(
    "INSERT INTO plants (id, name, tag, created_at_ms, created_by) VALUES (?, ?, ?, 1794700000000, 'preset-access')",
  );
  const write = (ids: Iterable<bigint>): void => {
    database.transaction(() => {
      for (const id of ids) insert.run(id, `Fern number ${id}`, tags[Number(id & 7n)] ?? null);
    })();
  };
  if (order === "sequential") write(sequential(count));
  else {
    const ids = new BigInt64Array(count).map((_, index) => spread(index + 1)).sort();
    // Sorted they are quick to write, but would leave every page full, and then each create would split one. Two sevenths
    // of them come second, so that pages end as full as random ids leave them: about 0.7.
    write(ids.filter((_, index) => index % 7 < 5));
    write(ids.filter((_, index) => index % 7 >= 5));
  }
  database.transaction(() => new BlockSummaries(database).catchUp())();
  database.close();
  // On disk before anything is measured: pending writes of the system would compete with the creates.
  const file = openSync(path, "r+");
  fsyncSync(file);
  closeSync(file);
}

function* sequential(count: number): Iterable<bigint> {
  for (let id = 1; id <= count; id++) yield BigInt(id);
}

/** The same distribution as the load's. */
function spread(number: number): bigint {
  return BigInt.asIntN(64, BigInt(number) * 0x9e3779b97f4a7c15n);
}

if (import.meta.main) {
  const options = ownOptions();
  const sizes =
    options.positional.length > 0 ? options.positional.map(Number) : options.quick ? [0, 0.1] : [0, 1, 10];
  const measure = options.quick ? { rounds: 1, seconds: 0.5 } : { rounds: 5, seconds: 4 };
  const growth: GrowthPoint[] = [];
  for (const order of ["sequential", "random"] as const) {
    for (const point of await measureGrowth(sizes, order, measure)) {
      growth.push(point);
      console.log(
        `${order} ids, ${point.millions} million: ${Math.round(point.rate)}/s, p99 ${point.p99Us} µs, ${point.memoryMb.toFixed(0)} MB`,
      );
    }
  }
  saveResults({ growth }, options);
}
