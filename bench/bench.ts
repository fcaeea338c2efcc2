// npm run bench [-- ROUNDS] [--quick] [--write]
// Durable creates against a bare Bun.serve, nginx and common alternatives, in interleaved rounds of one run: machines are
// noisy, so only ratios mean anything. Prints tables; with --write, adds them to docs/benchmarks.md.
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fastestFirst, Interleaved } from "./interleaved.ts";
import { startBenchPostgres } from "./on-postgres.ts";
import { ownOptions } from "./options.ts";
import { bare, installPeers, ours, peers, peersOn } from "./peers.ts";
import { type PocketBaseFacts, pocketBaseFacts } from "./pocketbase.ts";
import type { Row } from "./report-rates.ts";
import { saveResults } from "./results.ts";
import { temporaryFolder } from "./servers.ts";

const options = ownOptions();
const interleaved = new Interleaved({
  count: Number(options.positional[0] ?? (options.quick ? 1 : 5)),
  seconds: options.quick ? 0.5 : 3,
});
let pocketBase: PocketBaseFacts | undefined;

installPeers();
const both = [bare, ours];
const withPeers = await interleaved.compare(
  [...both, ...peers()],
  { connections: 64, headers: "equal" },
  async ({ name }, server) => {
    if (name === "PocketBase") pocketBase = await pocketBaseFacts(server);
  },
);
const rates = {
  "64": fastestFirst([...withPeers, ...(await compareOnPostgres())]),
  "256": await interleaved.compare(both, { connections: 256, headers: "equal" }),
};
const differing = {
  "64": await interleaved.compare(both, { connections: 64, headers: "differing" }),
};
const halfRate = await atHalfRate((withPeers.find(({ name }) => name === ours.name)?.rate ?? 0) / 2);
for (const [connections, rows] of Object.entries(rates)) print(`${connections} connections`, rows);
for (const [connections, rows] of Object.entries(differing))
  print(`${connections} connections, headers that differ in each request`, rows);
console.log(
  `\nAt half rate (${halfRate.rate.toFixed(0)}/s) p99: ours ${halfRate.oursP99Us} µs, bare ${halfRate.bareP99Us} µs`,
);
if (pocketBase === undefined) console.log("PocketBase was left out: npm has it only for Linux on x86-64.");
else
  console.log(
    `PocketBase ${pocketBase.version}: synchronous=${pocketBase.synchronous}; ${pocketBase.sent} comes back as ${pocketBase.returned}`,
  );
saveResults({ rates, differing, halfRate, fsyncsPerSecond: fsyncRate(), pocketBase }, options);

// In separate rounds: PostgreSQL continues to work after a load, and would disturb the others.
async function compareOnPostgres(): Promise<Row[]> {
  await using postgres = await startBenchPostgres();
  const contenders = [bare, ...peersOn(postgres)];
  const rows = await interleaved.compare(contenders, { connections: 64, headers: "equal" });
  return rows.filter(({ name }) => name !== bare.name);
}

async function atHalfRate(rate: number): Promise<{ rate: number; oursP99Us: number; bareP99Us: number }> {
  await using oursServer = await ours.start();
  await using bareServer = await bare.start();
  const [oursP99Us = 0, bareP99Us = 0] = await interleaved.p99At(rate, [oursServer, bareServer]);
  return { rate, oursP99Us, bareP99Us };
}

function print(title: string, rows: readonly Row[]): void {
  console.log(`\n${title}`);
  for (const { name, rate, ratio, p99Us, memoryMb, loadCores = 0 } of rows) {
    const share = `${rate.toFixed(0).padStart(7)}/s  ${ratio.toFixed(2)} of bare`;
    const rest = `p99 ${String(p99Us).padStart(7)} µs  ${memoryMb.toFixed(0).padStart(4)} MB`;
    console.log(`${name.padEnd(30)} ${share}  ${rest}  load ${loadCores.toFixed(2)} cores`);
  }
}

/** How many small writes the disk accepts per second, each made durable before the next. */
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
