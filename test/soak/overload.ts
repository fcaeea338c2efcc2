import { Database } from "bun:sqlite";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { load } from "../../bench/load.ts";
import { startBenchPostgres } from "../../bench/on-postgres.ts";
import { startOurs, temporaryFolder } from "../../bench/servers.ts";
import { median } from "../../bench/statistics.ts";
import { type Figures, judged, type Soak, type SoakRun } from "./rounds.ts";

const floor = 0.8;
const seconds = 3;
const pendingMax = 500;
const overloaded = 4 * pendingMax;

export const overload: Soak = {
  summary: `${overloaded} clients that retry at once, with room for ${pendingMax} plants, on SQLite and PostgreSQL`,
  unit: "rounds",
  rounds: 20,
  async run(run) {
    await using postgres = await startBenchPostgres();
    const database = await postgres.newDatabase();
    const folder = temporaryFolder();
    const file = join(folder, "plants.db");
    try {
      return [
        await overloadOn("SQLite", file, run, async () => countStored(file)),
        await overloadOn("PostgreSQL", database, run, async () => {
          const [row] = await postgres.run<{ stored: string }>(
            "SELECT count(*) AS stored FROM plants",
            database,
          );
          return Number(row?.stored);
        }),
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
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
  let [nextId, acknowledged, refused] = [1, 0, 0];
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const rates: number[] = [];
    for (const connections of [pendingMax, overloaded]) {
      const result = await load(server, { connections, seconds, firstId: nextId, mayRefuse: true });
      nextId = result.nextId;
      acknowledged += result.answered;
      refused += result.refused;
      rates.push(result.rate);
    }
    const [atLimit = 1, above = 0] = rates;
    if (round > 0) ratios.push(above / atLimit);
    tell(`${engine}: round ${round} of ${rounds}: ${(above / atLimit).toFixed(2)} of the rate at the limit`);
  }
  const lost = Math.max(0, acknowledged - (await stored()));
  const ratio = median(ratios);
  const note = `${ratio.toFixed(2)} of the rate at the limit (floor ${floor}), ${refused} refused`;
  const figures = judged({ what: `overload on ${engine}`, rounds: String(rounds), acknowledged, lost, note });
  return ratio >= floor ? figures : { failure: `UNDER THE FLOOR: ${note}`, ...figures };
}

/** Plants in a data file. Ids of a load differ, so each that was acknowledged is one of them. */
export function countStored(file: string): number {
  using database = new Database(file, { readonly: true });
  return database.query<{ stored: number }, []>("SELECT count(*) AS stored FROM plants").get()?.stored ?? 0;
}
