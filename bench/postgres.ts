import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../test/support/temporary-folder.ts";
import { load } from "./load.ts";
import { databaseOfPlants, startBenchPostgres } from "./on-postgres.ts";
import type { Bench } from "./options.ts";
import { table, writeSection } from "./page.ts";
import { installPeers, peersOn } from "./peers.ts";
import { type Server, startOurs } from "./servers.ts";
import { median } from "./statistics.ts";

const fewConnections = 64;
const manyConnections = 512;
const pgbench = "/usr/bin/pgbench";
// Nodes that write at the same time take their ids from far apart.
const idsApart = 10_000_000;

interface Measure {
  readonly name: string;
  /** How many connections it has. Its rate is compared with that of one plant-store node at as many, or at 64 if it has fewer. */
  readonly connections: number;
  readonly run: (firstId: number) => Promise<{ rate: number; nextId: number }>;
}

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
    const ofServers = (name: string, servers: readonly Server[], connections: number): Measure => ({
      name: `${name}, ${connections} connections`,
      connections,
      run: (firstId) => rateOf(servers, { connections, seconds, firstId }),
    });
    const ofPgbench = (connections: number): Measure => ({
      name: `pgbench, one INSERT each, ${connections} connections, no HTTP`,
      connections,
      run: async (nextId) => ({ rate: runPgbench(forPgbench, connections, seconds), nextId }),
    });

    const measures: Measure[] = [];
    for (const { name, start } of peersOn(server))
      measures.push(ofServers(name, [stack.use(await start())], fewConnections));
    measures.push(ofServers("plant-store, two nodes", [nodeA, nodeB], fewConnections));
    if (existsSync(pgbench)) measures.push(ofPgbench(fewConnections), ofPgbench(4));
    measures.push(ofServers("plant-store on PostgreSQL", [nodeA], manyConnections));
    if (existsSync(pgbench)) measures.push(ofPgbench(manyConnections));

    const rates = new Map(measures.map((measure) => [measure, [] as number[]]));
    let nextId = 1;
    for (let round = 0; round <= rounds; round++) {
      for (const [measure, values] of rates) {
        const result = await measure.run(nextId);
        nextId = result.nextId;
        if (round > 0) values.push(result.rate);
      }
      console.error(round === 0 ? "warmed up" : `round ${round} of ${rounds}`);
    }
    const rows = measures.map((measure) => {
      const values = rates.get(measure) ?? [];
      const connections = Math.max(measure.connections, fewConnections);
      // The first with as many connections is plant-store.
      const own = rates.get(measures.find((other) => other.connections === connections) ?? measure) ?? [];
      const times = median(own.map((rate, round) => rate / (values[round] ?? 1)));
      return [measure.name, Math.round(median(values)), values === own ? "" : `${times.toFixed(2)} ×`];
    });
    const text = table(
      ["what creates plants on one PostgreSQL", "#creates/s", "#one plant-store node is"],
      rows,
    );
    console.log(text);
    if (write) writeSection("results/benchmarks.md", "postgres", text);
  },
};

/** All of them at the same time, with the connections shared out. */
async function rateOf(
  servers: readonly Server[],
  { connections, seconds, firstId }: { connections: number; seconds: number; firstId: number },
): Promise<{ rate: number; nextId: number }> {
  const each = { connections: connections / servers.length, seconds, order: "random" as const };
  const results = await Promise.all(
    servers.map((server, index) => load(server, { ...each, firstId: firstId + index * idsApart })),
  );
  const rate = results.reduce((sum, result) => sum + result.rate, 0);
  return { rate, nextId: Math.max(...results.map((result) => result.nextId)) };
}

// The time in which 512 connections are opened is part of the run, though not of the rate.
const pgbenchSecondsMin = 8;

function runPgbench(database: string, clients: number, seconds: number): number {
  using folder = temporaryFolder();
  const script = join(folder.path, "insert.sql");
  writeFileSync(
    script,
    `\\set id random(1, 4611686018427387903)
    INSERT INTO plants (id, name, tag, created_at_ms, created_by)
    VALUES (:id, 'plant of some kind', 'indoor', (extract(epoch from clock_timestamp()) * 1000)::bigint, 'bench')
    ON CONFLICT (id) DO NOTHING;`,
  );
  const time = Math.max(seconds, pgbenchSecondsMin);
  const options = ["-n", "-M", "prepared", "-c", clients, "-j", 2, "-T", time, "-f", script].map(String);
  const ran = Bun.spawnSync([pgbench, ...options, database], { stderr: "pipe" });
  const rate = Number(/tps = ([\d.]+)/.exec(ran.stdout.toString())?.[1]);
  if (!(rate > 0)) throw new Error(`pgbench with ${clients} connections failed: ${ran.stderr}${ran.stdout}`);
  return rate;
}
