// npm run bench:postgres [ROUNDS] [SECONDS]
// Durable creates on one local PostgreSQL, in interleaved rounds: ours, plain services that insert each plant
// separately, and pgbench doing the same without any HTTP. All write to tables of the same shape.
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  databaseOfPlants,
  startBenchPostgres,
  startBunOnPostgres,
  startFastifyOnPostgres,
} from "./on-postgres.ts";
import { installPeers } from "./peers.ts";
import { load, median, startOursOn, temporaryFolder } from "./servers.ts";

const [rounds = 5, seconds = 4] = process.argv.slice(2).map(Number);
const connections = 64;
const pgbench = "/usr/bin/pgbench";
// Nodes that write at the same time take their ids from far apart.
const idsApart = 10_000_000;

installPeers();
await using postgres = await startBenchPostgres();
const forTwo = await databaseOfPlants(postgres);
const forPgbench = await databaseOfPlants(postgres);
await using one = await startOursOn(await databaseOfPlants(postgres));
await using nodeA = await startOursOn(forTwo);
await using nodeB = await startOursOn(forTwo);
await using fastify = await startFastifyOnPostgres(await databaseOfPlants(postgres));
await using bun = await startBunOnPostgres(await databaseOfPlants(postgres));

let nextId = 1;
const rates = new Map<string, number[]>();
for (let round = 0; round <= rounds; round++) {
  const measured: [string, number][] = [
    ["plant-store, one node", await rate([one], connections)],
    ["plant-store, two nodes", await rate([nodeA, nodeB], connections / 2)],
    ["Bun.serve + pg.Pool, one INSERT each", await rate([bun], connections)],
    ["Fastify + pg, one INSERT each", await rate([fastify], connections)],
    ["pgbench, one INSERT each, 64 connections", runPgbench(forPgbench, connections)],
    ["pgbench, one INSERT each, 4 connections", runPgbench(forPgbench, 4)],
  ];
  if (round === 0) continue;
  for (const [name, value] of measured) rates.set(name, [...(rates.get(name) ?? []), value]);
  console.error(`round ${round} of ${rounds}: ${measured.map(([, value]) => Math.round(value)).join(", ")}`);
}
const ourRate = median(rates.get("plant-store, one node") ?? []);
for (const [name, values] of rates) {
  const middle = median(values);
  console.log(
    `${name}: ${Math.round(middle)} creates per second; one of our nodes does ${(ourRate / middle).toFixed(2)} times that`,
  );
}

async function rate(servers: Parameters<typeof load>[0][], each: number): Promise<number> {
  const results = await Promise.all(
    servers.map((server, index) =>
      load(server, { connections: each, seconds, firstId: nextId + index * idsApart, order: "random" }),
    ),
  );
  nextId = Math.max(...results.map((result) => result.nextId));
  return results.reduce((sum, result) => sum + result.rate, 0);
}

function runPgbench(database: string, clients: number): number {
  if (!existsSync(pgbench)) return Number.NaN;
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
