import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import type { PostgresServer } from "../test/support/postgres.ts";
import { buildShim } from "../test/support/shims.ts";
import { temporaryFolder } from "../test/support/temporary-folder.ts";
import { type LoadOptions, loadPair } from "./load.ts";
import { startBenchPostgres } from "./on-postgres.ts";
import { MisusedError } from "./options.ts";
import { ownCheckout, type Server, startOurs } from "./servers.ts";
import { RepeatedWhereStolen } from "./statistics.ts";

/** A kind of load, and the disk or database below it. */
export interface Case {
  readonly name: string;
  /** How long an fsync takes, which a preloaded library decides; undefined for this machine's own disk. */
  readonly syncUs?: number;
  readonly onPostgres?: boolean;
  readonly load: Pick<LoadOptions, "connections" | "headers">;
}

export const ownDisk: Case = { name: "own-disk", load: { connections: 64 } };
const all: readonly Case[] = [
  ownDisk,
  { name: "free", syncUs: 0, load: { connections: 64 } },
  { name: "differing", syncUs: 0, load: { connections: 64, headers: "differing" } },
  { name: "0.5ms", syncUs: 500, load: { connections: 64 } },
  { name: "2ms", syncUs: 2000, load: { connections: 512 } },
  { name: "postgres-1", onPostgres: true, load: { connections: 1 } },
  { name: "postgres", onPostgres: true, load: { connections: 64 } },
  { name: "postgres-512", onPostgres: true, load: { connections: 512 } },
];

export const caseNames = all.map(({ name }) => name);

export function casesNamed(names: readonly string[]): readonly Case[] {
  return names.map((name) => {
    const found = all.find((one) => one.name === name);
    if (found === undefined) throw new MisusedError(`There is no case ${name}.`);
    return found;
  });
}

/** Starts services for the cases, each on a store of its own. Dispose of it after them. */
export class CaseServers implements AsyncDisposable {
  readonly #folder = temporaryFolder();
  // In memory, so that an fsync takes as long as the library makes it; on disk if the system has no such folder.
  readonly #memory = temporaryFolder(existsSync("/dev/shm") ? "/dev/shm" : tmpdir());
  #library: string | undefined;
  #postgres: PostgresServer | undefined;

  async start({ syncUs, onPostgres }: Case, checkout = ownCheckout): Promise<Server> {
    const options = { checkout: resolve(checkout) };
    if (onPostgres) {
      this.#postgres ??= await startBenchPostgres();
      return startOurs({ ...options, database: await this.#postgres.newDatabase() });
    }
    if (syncUs === undefined) return startOurs({ ...options, database: this.#folder.newPath() });
    this.#library ??= buildShim("slow-sync", this.#folder.path);
    return startOurs({
      ...options,
      database: this.#memory.newPath(),
      environment: { LD_PRELOAD: this.#library, SYNC_US: String(syncUs) },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#postgres?.[Symbol.asyncDispose]();
    this.#folder[Symbol.dispose]();
    this.#memory[Symbol.dispose]();
  }
}

/** Rates and CPU times for each create, by round, as shares of the other server's. */
export interface PairRatios {
  readonly rates: number[];
  readonly costs: number[];
}

// A service runs for weeks, so its first seconds do not count. After 1.5 s the JIT compiler still used 5.8 µs of CPU time per
// create, after 12 s 1.2 µs.
const warmUpSeconds = 8;

/**
 * Both servers are started again in each round: two processes of the same program can differ by a tenth for as long as they run.
 */
export async function measurePair(
  { name, load }: Case,
  starts: { readonly ours: () => Promise<Server>; readonly other: () => Promise<Server> },
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<PairRatios> {
  const ratios: PairRatios = { rates: [], costs: [] };
  const repeated = new RepeatedWhereStolen(rounds);
  for (let round = 1; round <= rounds; round++) {
    const { rate, cost } = await repeated.run(async () => {
      // The first to start alternates too: by itself it was faster by up to 6 %.
      const isOursFirst = round % 2 === 1;
      await using first = await (isOursFirst ? starts.ours() : starts.other());
      await using second = await (isOursFirst ? starts.other() : starts.ours());
      const [ours, other] = isOursFirst ? [first, second] : [second, first];
      const warm = await loadPair([ours, other], {
        ...load,
        seconds: Math.min(4 * seconds, warmUpSeconds),
        firstId: 1,
      });
      return await loadPair([ours, other], { ...load, seconds, firstId: warm.nextId });
    });
    ratios.rates.push(rate);
    ratios.costs.push(cost);
    console.error(`${name}, round ${round} of ${rounds}: rate ${rate.toFixed(3)}, CPU ${cost.toFixed(3)}`);
  }
  return ratios;
}
