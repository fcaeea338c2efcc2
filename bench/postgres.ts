import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "./load.ts";
import { databaseOfPlants, startBenchPostgres } from "./on-postgres.ts";
import type { Bench } from "./options.ts";
import { table, writeSection } from "./page.ts";
import { installPeers, peersOn } from "./peers.ts";
import { type Server, startOurs, temporaryFolder } from "./servers.ts";
import { median } from "./statistics.ts";

const connections = 64;
const pgbench = "/usr/bin/pgbench";
// Nodes that write at the same time take their ids from far apart.
const idsApart = 10_000_000;

/** Durable creates on one local PostgreSQL, all on tables of the same shape, in interleaved rounds. */
export const postgres: Bench = {
  usage: "",
  summary:
    "creates on PostgreSQL: one and two nodes, services that insert each plant separately, and pgbench doing the same without HTTP",
  rounds: 5,
  async run({ rounds, quick, write }) {
    const seconds = quick ? 1 : 4;
    installPeers();
    await using server = await startBenchPostgres();
    await using stack = new AsyncDisposableStack();
    const shared = await server.newDatabase();
    const nodeA = stack.use(await startOurs({ database: shared }));
    const nodeB = stack.use(await startOurs({ database: shared }));
    const forPgbench = await databaseOfPlants(server);
    const measures = new Map<string, (firstId: number) => Promise<{ rate: number; nextId: number }>>();
    for (const { name, start } of peersOn(server)) {
      const peer = stack.use(await start());
      measures.set(name, (firstId) => rateOf([peer], { seconds, firstId }));
    }
    measures.set("plant-store, two nodes", (firstId) => rateOf([nodeA, nodeB], { seconds, firstId }));
    for (const clients of existsSync(pgbench) ? [connections, 4] : [])
      measures.set(`pgbench, one INSERT each, ${clients} connections, no HTTP`, async (nextId) => {
        return { rate: runPgbench(forPgbench, clients, seconds), nextId };
      });

    const rates = new Map([...measures.keys()].map((name) => [name, [] as number[]]));
    let nextId = 1;
    for (let round = 0; round <= rounds; round++) {
      for (const [name, measure] of measures) {
        const result = await measure(nextId);
        nextId = result.nextId;
        if (round > 0) rates.get(name)?.push(result.rate);
      }
      console.error(round === 0 ? "warmed up" : `round ${round} of ${rounds}`);
    }
    // The first is plant-store.
    const own = [...rates.values()][0] ?? [];
    const rows = [...rates].map(([name, values]) => {
      const times = median(own.map((rate, round) => rate / (values[round] ?? 1)));
      return [name, Math.round(median(values)), values === own ? "" : `${times.toFixed(2)} ×`];
    });
    const text = table(
      ["what creates plants on one PostgreSQL", "#creates/s", "#one plant-store node is"],
      rows,
    );
    console.log(text);
    if (write) writeSection("scaling.md", "postgres", text);
  },
};

/** All of them at the same time, with the connections shared out. */
async function rateOf(
  servers: readonly Server[],
  { seconds, firstId }: { seconds: number; firstId: number },
): Promise<{ rate: number; nextId: number }> {
  const each = { connections: connections / servers.length, seconds, order: "random" as const };
  const results = await Promise.all(
    servers.map((server, index) => load(server, { ...each, firstId: firstId + index * idsApart })),
  );
  const rate = results.reduce((sum, result) => sum + result.rate, 0);
  return { rate, nextId: Math.max(...results.map((result) => result.nextId)) };
}

function runPgbench(database: string, clients: number, seconds: number): number {
  const folder = temporaryFolder();
  const script = join(folder, "insert.sql");
  writeFileSync(
    script,
    `\\set id random(1, 4611686018427387903)
    INSERT INTO plants (id, name, tag, created_at_ms, created_by)
    VALUES (:id, 'plant of some kind', 'indoor', (extract(epoch from clock_timestamp()) * 1000)::bigint, 'bench')
    ON CONFLICT (id) DO NOTHING;`,
  );
  const options = ["-n", "-M", "prepared", "-c", clients, "-j", 2, "-T", seconds, "-f", script].map(String);
  const ran = Bun.spawnSync([pgbench, ...options, database]);
  rmSync(folder, { recursive: true });
  return Number(/tps = ([\d.]+)/.exec(ran.stdout.toString())?.[1]);
}
