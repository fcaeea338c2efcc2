// npm run bench:compare -- CHECKOUT [ROUNDS]
// Durable creates of this version against another checkout of the project, in interleaved rounds: the rate, and the CPU time of the
// server for each create, which other work on the machine disturbs less.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { load, median, type Server, startOurs } from "./servers.ts";

const [checkout, count = "15"] = process.argv.slice(2);
if (checkout === undefined) {
  console.error("Name the folder of the checkout to compare with: npm run bench:compare -- ../before");
  process.exit(2);
}
const rounds = Number(count);
const ticksPerSecond = 100;
await using now = await startOurs();
await using before = await startOurs([], resolve(checkout));
let nextId = 1;
const rates: number[] = [];
const costs: number[] = [];
for (let round = 0; round <= rounds; round++) {
  // The first in a round alternates, so that neither gains by its place.
  const order = round % 2 === 0 ? [now, before] : [before, now];
  const measured = new Map<Server, { rate: number; cpuUs: number }>();
  for (const server of order) measured.set(server, await measure(server));
  const [ours, theirs] = [measured.get(now), measured.get(before)];
  if (round === 0 || ours === undefined || theirs === undefined) continue;
  rates.push(ours.rate / theirs.rate);
  costs.push(ours.cpuUs / theirs.cpuUs);
  console.error(
    `round ${round} of ${rounds}: rate ${rates.at(-1)?.toFixed(3)}, CPU ${costs.at(-1)?.toFixed(3)} (${ours.cpuUs.toFixed(1)} µs)`,
  );
}
console.log(`rate ${summary(rates)}; CPU for each create ${summary(costs)} of the other checkout`);

async function measure(server: Server): Promise<{ rate: number; cpuUs: number }> {
  const startTicks = cpuTicks(server);
  const result = await load(server, { connections: 64, seconds: 3, firstId: nextId });
  nextId = result.nextId;
  const cpuUs = ((cpuTicks(server) - startTicks) / ticksPerSecond / result.answered) * 1e6;
  return { rate: result.rate, cpuUs };
}

/** User and system time of all threads; Linux alone has it here. */
function cpuTicks({ pid }: Server): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

function summary(ratios: readonly number[]): string {
  const sorted = ratios.toSorted((one, other) => one - other);
  return `${median([...ratios]).toFixed(3)} (${sorted[0]?.toFixed(3)} to ${sorted.at(-1)?.toFixed(3)})`;
}
