// npm run bench:disks [-- ROUNDS] [CHECKOUT] [--quick] [--write]
// Durable creates against a bare Bun.serve, in interleaved rounds: with an fsync that costs nothing, on this machine's disk, and
// with fsyncs of 0.5 and 2 ms; with equal headers and with headers that differ in each request. Then how long /livez takes under full
// load with fsyncs of 20 ms. The slower disks need a C compiler.
// CHECKOUT is the folder of another version of this project, measured instead of this one.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { ownOptions } from "./options.ts";
import { measurePairs } from "./pairs.ts";
import type { DiskRatio } from "./report-rates.ts";
import { saveResults } from "./results.ts";
import {
  load,
  median,
  memoryFolder,
  oursCommand,
  type Server,
  start,
  startBare,
  temporaryFolder,
} from "./servers.ts";

const options = ownOptions();
const [rounds = options.quick ? "1" : "11", checkout = join(import.meta.dir, "..")] = options.positional;
const seconds = options.quick ? 0.5 : 1.5;
const folder = temporaryFolder();
const shim = join(folder, "slow-sync.so");
const canSlow =
  spawnSync("cc", ["-O1", "-shared", "-fPIC", "-o", shim, join(import.meta.dir, "slow-sync.c")]).status === 0;
// The data is in memory, so that an fsync takes as long as the shim makes it, and no time without it.
const memory = memoryFolder();
// Disposed last: a service whose data file disappears saves a copy of it.
await using folders = new AsyncDisposableStack();
for (const used of [memory, folder]) folders.defer(() => rmSync(used, { recursive: true, force: true }));

await using bare = await startBare();
await using free = await ours("free", join(memory, "free.db"));
await using own = await ours("own", join(folder, "own.db"));
await using half = canSlow ? await ours("half", join(memory, "half.db"), 500) : undefined;
await using two = canSlow ? await ours("two", join(memory, "two.db"), 2000) : undefined;
await using slow = canSlow ? await ours("slow", join(memory, "slow.db"), 20_000) : undefined;
const cases: (readonly [
  disk: string,
  server: Server,
  connections: number,
  headers: "equal" | "differing",
])[] = [
  ["free", free, 64, "equal"],
  ["free", free, 64, "differing"],
  ["own disk", own, 64, "equal"],
  ["own disk", own, 64, "differing"],
  ...(half ? [["0.5 ms", half, 64, "equal"] as const] : []),
  ...(two ? [["2 ms", two, 512, "equal"] as const] : []),
];
const pairs = cases.map(([disk, server, connections, headers]) => ({
  name: `${disk}, ${headers} headers`,
  server,
  other: bare,
  load: { connections, headers },
  disk,
}));
const measured = await measurePairs(pairs, { rounds: Number(rounds), seconds });
const disks = pairs.map(({ disk, load }, index): DiskRatio => {
  const { rates = [] } = measured[index] ?? {};
  return { disk, ...load, ratio: median(rates), lowest: Math.min(...rates), highest: Math.max(...rates) };
});
for (const { disk, connections, headers, ratio, lowest, highest } of disks)
  console.log(
    `${disk}, ${connections} connections, ${headers} headers: ${ratio.toFixed(2)} of bare (${lowest.toFixed(2)} to ${highest.toFixed(2)})`,
  );
if (slow !== undefined) {
  const p99Ms = await livezP99Ms(slow, options.quick ? 2 : 20);
  console.log(`/livez under full load, with fsyncs of 20 ms and 64 connections: p99 ${p99Ms.toFixed(1)} ms`);
}
saveResults({ disks }, options);

/** On one connection, a hundred times per second. */
async function livezP99Ms(server: Server, seconds: number): Promise<number> {
  const loading = load(server, { connections: 64, seconds, firstId: 1 }).then(() => "done" as const);
  const times: number[] = [];
  // The load needs a moment to start.
  await Bun.sleep(500);
  while ((await Promise.race([loading, Bun.sleep(10)])) !== "done") {
    const startMs = performance.now();
    const response = await fetch(`http://127.0.0.1:${server.port}/livez`);
    await response.arrayBuffer();
    times.push(performance.now() - startMs);
    if (!response.ok) throw new Error(`/livez responded with ${response.status}`);
  }
  return times.sort((one, other) => one - other)[Math.floor(times.length * 0.99)] ?? 0;
}

function ours(name: string, database: string, syncUs?: number): Promise<Server> {
  const command = (port: number) => oursCommand(port, database, [], resolve(checkout));
  const environment = {
    ...(syncUs !== undefined && { LD_PRELOAD: shim, SYNC_US: String(syncUs) }),
  };
  return start(name, { command, environment });
}
