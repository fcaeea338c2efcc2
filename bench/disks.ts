// npm run bench:disks [-- ROUNDS] [CHECKOUT] [--quick] [--write]
// Durable creates against a bare Bun.serve, in interleaved rounds: with an fsync that costs nothing, on this machine's own disk, and
// with fsyncs of 0.5 and 2 ms; with equal headers and with headers that differ in each request. The slower disks need a C compiler.
// CHECKOUT is the folder of another version of this project, measured instead of this one.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { RepeatedWhereStolen } from "./noise.ts";
import { ownOptions } from "./options.ts";
import type { DiskRatio } from "./report-rates.ts";
import { saveResults } from "./results.ts";
import { load, median, oursCommand, type Server, start, startBare, temporaryFolder } from "./servers.ts";

const options = ownOptions();
const [rounds = options.quick ? "1" : "11", checkout = join(import.meta.dir, "..")] = options.positional;
// Short, so that both of a pair run on the same machine, as it were: how fast it is changes within seconds.
const seconds = options.quick ? 0.5 : 1.5;
const folder = temporaryFolder();
const shim = join(folder, "slow-sync.so");
const canSlow =
  spawnSync("cc", ["-O1", "-shared", "-fPIC", "-o", shim, join(import.meta.dir, "slow-sync.c")]).status === 0;
// The data is in memory, so that an fsync costs what the shim makes it cost, and nothing without it.
const memory = join("/dev/shm", `plant-store-bench-${process.pid}`);
mkdirSync(memory);
// Disposed last: a service whose data file disappears saves a copy of it.
await using folders = new AsyncDisposableStack();
for (const used of [memory, folder]) folders.defer(() => rmSync(used, { recursive: true, force: true }));

interface Case {
  readonly disk: string;
  readonly connections: number;
  readonly headers: "equal" | "differing";
  readonly server: Server;
  readonly ratios: number[];
}

await using bare = await startBare();
await using free = await ours("free", join(memory, "free.db"));
await using own = await ours("own", join(folder, "own.db"));
await using half = canSlow ? await ours("half", join(memory, "half.db"), 500) : undefined;
await using two = canSlow ? await ours("two", join(memory, "two.db"), 2000) : undefined;
const cases: Case[] = [
  { disk: "free", connections: 64, headers: "equal", server: free, ratios: [] },
  { disk: "free", connections: 64, headers: "differing", server: free, ratios: [] },
  { disk: "own disk", connections: 64, headers: "equal", server: own, ratios: [] },
  { disk: "own disk", connections: 64, headers: "differing", server: own, ratios: [] },
  ...(half ? [{ disk: "0.5 ms", connections: 64, headers: "equal" as const, server: half, ratios: [] }] : []),
  ...(two ? [{ disk: "2 ms", connections: 512, headers: "equal" as const, server: two, ratios: [] }] : []),
];
let nextId = 1;
const repeated = new RepeatedWhereStolen(Number(rounds) * cases.length);
for (let round = 0; round <= Number(rounds); round++) {
  const line: string[] = [];
  for (const one of cases) {
    const { ratio, loadCores } = await repeated.run(() => measure(one, round));
    if (round > 0) one.ratios.push(ratio);
    line.push(`${one.disk} ${ratio.toFixed(2)} (load ${loadCores.toFixed(2)} of a core)`);
  }
  console.error(`round ${round} of ${rounds}: ${line.join(", ")}`);
}
const disks: DiskRatio[] = cases.map(({ disk, connections, headers, ratios }) => ({
  disk,
  connections,
  headers,
  ratio: median(ratios),
  lowest: Math.min(...ratios),
  highest: Math.max(...ratios),
}));
for (const { disk, connections, headers, ratio, lowest, highest } of disks)
  console.log(
    `${disk}, ${connections} connections, ${headers} headers: ${ratio.toFixed(2)} of bare (${lowest.toFixed(2)} to ${highest.toFixed(2)})`,
  );
saveResults({ disks }, options);

async function measure({ connections, headers, server }: Case, round: number) {
  // The first alternates, so that neither gains by its place.
  const order = round % 2 === 0 ? [server, bare] : [bare, server];
  const rates = new Map<Server, number>();
  let loadCores = 0;
  for (const one of order) {
    const result = await load(one, { connections, headers, seconds, firstId: nextId });
    nextId = result.nextId;
    rates.set(one, result.rate);
    loadCores = Math.max(loadCores, result.cores);
  }
  return { ratio: (rates.get(server) ?? 0) / (rates.get(bare) ?? 1), loadCores };
}

function ours(name: string, database: string, syncUs?: number): Promise<Server> {
  const command = (port: number) => oursCommand(port, database, [], resolve(checkout));
  const environment = {
    ...(syncUs !== undefined && { LD_PRELOAD: shim, SYNC_US: String(syncUs) }),
  };
  return start(name, { command, environment });
}
