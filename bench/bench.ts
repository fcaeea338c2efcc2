// npm run bench [-- ROUNDS]
// Durable creates against a bare Bun.serve, nginx and what people would pick, in interleaved rounds of one run: machines
// are noisy, so only ratios mean something. Prints a table and writes docs/benchmarks.md.
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { startBenchPostgres } from "./on-postgres.ts";
import { bare, bareOnTwo, type Contender, installPeers, ours, oursOnTwo, peers, peersOn } from "./peers.ts";
import type { Row } from "./report.ts";
import { saveResults } from "./results.ts";
import { cpuSeconds, type Load, load, median, memoryMb, type Server, temporaryFolder } from "./servers.ts";

const rounds = Number(process.argv[2] ?? 5);
const seconds = 3;
let nextId = 1;

installPeers();
const embedded = await compare([bare, ours, bareOnTwo, oursOnTwo, ...peers], 64);
const rates = {
  "64": fastestFirst([...embedded, ...(await compareOnPostgres(64))]),
  "256": await compare([bare, ours, bareOnTwo, oursOnTwo], 256),
};
const halfRate = await atHalfRate((rates["64"].find(({ name }) => name === ours.name)?.rate ?? 0) / 2);
saveResults({ rates, halfRate, fsyncsPerSecond: fsyncRate() });
for (const [connections, rows] of Object.entries(rates)) {
  console.log(`\n${connections} connections`);
  for (const { name, rate, ratio, p99Us, memoryMb: mb } of rows) {
    console.log(
      `${name.padEnd(30)} ${rate.toFixed(0).padStart(7)}/s  ${ratio.toFixed(2)} of bare  p99 ${String(p99Us).padStart(7)} µs  ${mb.toFixed(0)} MB`,
    );
  }
}
console.log(
  `\nAt half rate (${halfRate.rate.toFixed(0)}/s) p99: ours ${halfRate.oursP99Us} µs, bare ${halfRate.bareP99Us} µs`,
);

// In rounds of their own: PostgreSQL goes on working behind a load, and would be in the way of the others.
async function compareOnPostgres(connections: number): Promise<Row[]> {
  await using postgres = await startBenchPostgres();
  const rows = await compare([bare, ...peersOn(postgres)], connections);
  return rows.filter(({ name }) => name !== bare.name);
}

async function compare(contenders: readonly Contender[], connections: number): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const servers = new Map<Contender, Server>();
  for (const contender of contenders) servers.set(contender, stack.use(await contender.start()));
  const measured = new Map<Contender, { result: Load; cpuUs: number }[]>(
    contenders.map((contender) => [contender, []]),
  );
  for (let round = 0; round <= rounds; round++) {
    console.error(
      round === 0
        ? `${connections} connections: warming up`
        : `${connections} connections: round ${round} of ${rounds}`,
    );
    // Each round begins with another one, so that none always comes behind the same neighbour.
    for (const [contender, server] of rotated([...servers], round)) {
      const before = await cpuSeconds(server.pid);
      const result = await load(server, { connections, seconds: round === 0 ? 1 : seconds, firstId: nextId });
      nextId = result.nextId;
      const cpuUs = (((await cpuSeconds(server.pid)) - before) * 1e6) / Math.max(1, result.answered);
      if (round > 0) measured.get(contender)?.push({ result, cpuUs });
    }
  }
  const bareRates = measured.get(bare)?.map(({ result }) => result.rate) ?? [];
  const rows: Row[] = [];
  for (const [contender, server] of servers) {
    const all = measured.get(contender) ?? [];
    const of = (pick: (result: Load) => number) => median(all.map(({ result }) => pick(result)));
    rows.push({
      name: contender.name,
      durability: contender.durability,
      rate: of(({ rate }) => rate),
      ratio: median(all.map(({ result }, index) => result.rate / (bareRates[index] ?? 1))),
      p50Us: of(({ p50Us }) => p50Us),
      p99Us: of(({ p99Us }) => p99Us),
      p999Us: of(({ p999Us }) => p999Us),
      memoryMb: await memoryMb(server.pid),
      cpuUsPerCreate: contender.sharesWork ? undefined : median(all.map(({ cpuUs }) => cpuUs)),
    });
  }
  return fastestFirst(rows);
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const first = by % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

function fastestFirst(rows: Row[]): Row[] {
  return rows.sort((a, b) => b.rate - a.rate);
}

async function atHalfRate(rate: number): Promise<{ rate: number; oursP99Us: number; bareP99Us: number }> {
  await using oursServer = await ours.start();
  await using bareServer = await bare.start();
  const p99: Record<"ours" | "bare", number[]> = { ours: [], bare: [] };
  for (let round = 0; round <= rounds; round++) {
    for (const [name, server] of [
      ["ours", oursServer],
      ["bare", bareServer],
    ] as const) {
      const result = await load(server, { connections: 64, seconds, firstId: nextId, rate });
      nextId = result.nextId;
      if (round > 0) p99[name].push(result.p99Us);
    }
  }
  return { rate, oursP99Us: median(p99.ours), bareP99Us: median(p99.bare) };
}

/** How many small writes the disk takes, each made durable before the next. */
function fsyncRate(): number {
  const folder = temporaryFolder();
  const file = openSync(join(folder, "probe"), "w");
  const page = Buffer.alloc(4096, 1);
  const startMs = performance.now();
  let count = 0;
  while (performance.now() - startMs < 2000) {
    writeSync(file, page, 0, page.length, (count++ % 1000) * page.length);
    fdatasyncSync(file);
  }
  const rate = (count * 1000) / (performance.now() - startMs);
  closeSync(file);
  rmSync(folder, { recursive: true, force: true });
  return rate;
}
