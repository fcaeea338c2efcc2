// npm run bench:traces -- [ROUNDS] [RATIO]
// Durable creates with a share of the requests traced, 1% unless given, against creates without traces, in interleaved rounds: the
// rate, and the CPU time of the server for each create, which other work on the machine disturbs less. Fails above its limit.
import { join } from "node:path";
import { startReceiver } from "../test/otlp-receiver.ts";
import { cpuSeconds, load, median, oursCommand, type Server, start } from "./servers.ts";

const [rounds = 15, ratio = 0.01] = process.argv.slice(2).map(Number);
const costMax = 1.05;
const receiver = startReceiver();
const ours = (environment: Record<string, string>) =>
  start("plant-store", {
    command: (port, folder) => oursCommand(port, join(folder, "plants.db"), []),
    environment,
  });
await using plain = await ours({});
await using traced = await ours({
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  OTEL_TRACES_SAMPLER: "traceidratio",
  OTEL_TRACES_SAMPLER_ARG: String(ratio),
});
let nextId = 1;
let created = 0;
const rates: number[] = [];
const costs: number[] = [];
for (let round = 0; round <= rounds; round++) {
  // The first in a round alternates, so that neither gains by its position.
  const order = round % 2 === 0 ? [plain, traced] : [traced, plain];
  const measured = new Map<Server, { rate: number; cpuUs: number }>();
  for (const server of order) measured.set(server, await measure(server));
  const [without, withTraces] = [measured.get(plain), measured.get(traced)];
  // The first round warms up.
  if (round === 0 || without === undefined || withTraces === undefined) continue;
  rates.push(withTraces.rate / without.rate);
  costs.push(withTraces.cpuUs / without.cpuUs);
  console.error(
    `round ${round} of ${rounds}: rate ${rates.at(-1)?.toFixed(3)}, CPU ${costs.at(-1)?.toFixed(3)} (${without.cpuUs.toFixed(1)} µs without)`,
  );
}
const requests = receiver.spans.filter(({ name }) => name === "POST /plants").length;
console.log(
  `with ${ratio} sampled: rate ${summary(rates)}, CPU for each create ${summary(costs)} of that without`,
);
console.log(
  `${requests} request spans arrived for ${created} creates; problems: ${receiver.problems.length}`,
);
if (median(costs) > costMax) {
  console.log(`OVER THE LIMIT of ${costMax}`);
  process.exitCode = 1;
}
await receiver[Symbol.asyncDispose]();

async function measure(server: Server): Promise<{ rate: number; cpuUs: number }> {
  const startSeconds = await cpuSeconds(server.pid);
  const result = await load(server, { connections: 64, seconds: 3, firstId: nextId });
  nextId = result.nextId;
  if (server === traced) created += result.answered;
  const cpuUs = (((await cpuSeconds(server.pid)) - startSeconds) / result.answered) * 1e6;
  return { rate: result.rate, cpuUs };
}

function summary(ratios: readonly number[]): string {
  const sorted = ratios.toSorted((one, other) => one - other);
  return `${median(ratios).toFixed(3)} (${sorted[0]?.toFixed(3)} to ${sorted.at(-1)?.toFixed(3)})`;
}
