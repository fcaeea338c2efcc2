import { Database } from "bun:sqlite";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { load as loadServer } from "../../bench/load.ts";
import { startBenchPostgres } from "../../bench/on-postgres.ts";
import { memoryMb, startOurs } from "../../bench/servers.ts";
import { median } from "../../bench/statistics.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type Figures, judged, type Soak, type SoakRun } from "./rounds.ts";

const slicesMin = 8;
const sliceSecondsMax = 20;
// How much more the last quarter of the run may have than the second one; the first one warms up.
const growthMax = 1.1;
const slack = { memoryMb: 8, descriptors: 4 };
// The limit to which SQLite truncates the WAL file when it restarts (walBytesAfterRestart in
// src/storage/sqlite/writing/checkpointer.ts). Below it the file never shrinks, so its size is that of the slowest checkpoint so
// far, and growth is no leak: on a busy machine it went from 16 to 32 MB.
const walMbMax = 64;

interface Sample {
  readonly memoryMb: number;
  readonly descriptors: number;
  readonly walMb: number;
}

export const load: Soak = {
  summary: `full load: memory and descriptors stay flat, the WAL within ${walMbMax} MB; an hour needs 10 GB of disk`,
  unit: "minutes",
  rounds: 60,
  async run({ rounds: minutes, tell }) {
    using folder = temporaryFolder();
    const database = join(folder.path, "plants.db");
    await using server = await startOurs({ database });
    const seconds = Math.min(sliceSecondsMax, (minutes * 60) / slicesMin);
    const samples: Sample[] = [];
    let nextId = 1;
    let acknowledged = 0;
    let silenceMs = 0;
    for (let slice = 1; slice <= (minutes * 60) / seconds; slice++) {
      const result = await loadServer(server, { connections: 64, seconds, firstId: nextId });
      nextId = result.nextId;
      acknowledged += result.answered;
      silenceMs = Math.max(silenceMs, result.silenceUs / 1000);
      const sample = {
        memoryMb: Math.round(await memoryMb(server.pid)),
        descriptors: await openDescriptors(server.pid),
        walMb: Math.ceil(statSync(`${database}-wal`).size / 2 ** 20),
      };
      samples.push(sample);
      const minute = ((slice * seconds) / 60).toFixed(1);
      tell(`${minute} min: ${Math.round(result.rate)}/s, ${JSON.stringify(sample)}`);
    }
    const failures = (["memoryMb", "descriptors"] as const)
      .filter((of) => grew(samples, of))
      .map((of) => `${of} grew`);
    if (samples.some(({ walMb }) => walMb > walMbMax)) failures.push(`the WAL exceeded ${walMbMax} MB`);
    const range = (of: keyof Sample): string => {
      const values = samples.map((sample) => sample[of]);
      return `${Math.min(...values)} to ${Math.max(...values)}`;
    };
    const note = `memory ${range("memoryMb")} MB, descriptors ${range("descriptors")}, WAL ${range("walMb")} MB; longest silence ${silenceMs.toFixed(0)} ms`;
    const lost = Math.max(0, acknowledged - countStored(database));
    const figures = judged({ what: "full load", rounds: minutes, acknowledged, lost, note });
    return [failures.length === 0 ? figures : { failure: `${failures.join(", ")}: ${note}`, ...figures }];
  },
};

/** The fewest within a moment: the load's connections are still being closed. */
async function openDescriptors(pid: number): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY;
  for (let sample = 0; sample < 10; sample++) {
    await Bun.sleep(50);
    fewest = Math.min(fewest, readdirSync(`/proc/${pid}/fd`).length);
  }
  return fewest;
}

/** Whether the last quarter of the run had more than the second one. */
function grew(samples: readonly Sample[], of: keyof typeof slack): boolean {
  const quarter = Math.floor(samples.length / 4);
  const middle = (from: number) => median(samples.slice(from, from + quarter).map((sample) => sample[of]));
  return middle(samples.length - quarter) > middle(quarter) * growthMax + slack[of];
}

const overloadSeconds = 3;
const floor = 0.8;
const pendingMax = 500;
const overloaded = 4 * pendingMax;
const count = "SELECT count(*) AS stored FROM plants";

export const overload: Soak = {
  summary: `${overloaded} clients without backoff, with room for ${pendingMax} plants, on SQLite and PostgreSQL`,
  unit: "rounds",
  rounds: 20,
  async run(run) {
    await using postgres = await startBenchPostgres();
    const database = await postgres.newDatabase();
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    return [
      await overloadOn("SQLite", file, run, async () => countStored(file)),
      await overloadOn("PostgreSQL", database, run, async () => {
        const [row] = await postgres.run<{ stored: string }>(count, database);
        return Number(row?.stored);
      }),
    ];
  },
};

async function overloadOn(
  engine: string,
  database: string,
  { rounds, tell }: SoakRun,
  stored: () => Promise<number>,
): Promise<Figures> {
  await using server = await startOurs({
    database,
    flags: ["--max-pending", String(pendingMax)],
    environment: { PLANT_STORE_LOG_LEVEL: "off" },
  });
  const ratios: number[] = [];
  let nextId = 1;
  let acknowledged = 0;
  let refused = 0;
  const rateWith = async (connections: number): Promise<number> => {
    const options = { connections, seconds: overloadSeconds, firstId: nextId, mayRefuse: true };
    const result = await loadServer(server, options);
    nextId = result.nextId;
    acknowledged += result.answered;
    refused += result.refused;
    return result.rate;
  };
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const atLimit = await rateWith(pendingMax);
    const ratio = (await rateWith(overloaded)) / atLimit;
    if (round > 0) ratios.push(ratio);
    tell(`${engine}: round ${round} of ${rounds}: ${ratio.toFixed(2)} of the rate at the limit`);
  }
  const lost = Math.max(0, acknowledged - (await stored()));
  const ratio = median(ratios);
  const note = `${ratio.toFixed(2)} of the rate at the limit (floor ${floor}), ${refused} refused`;
  const figures = judged({ what: `overload on ${engine}`, rounds, acknowledged, lost, note });
  return ratio >= floor ? figures : { failure: `UNDER THE FLOOR: ${note}`, ...figures };
}

/** Plants in a data file. Ids of a load differ, so each that was acknowledged is one of them. */
function countStored(file: string): number {
  using database = new Database(file, { readonly: true });
  return database.query<{ stored: number }, []>(count).get()?.stored ?? 0;
}
