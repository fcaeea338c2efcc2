// npm run bench:traces -- [ROUNDS] [RATIO]
// Durable creates with a share of the requests traced, 1% unless given, against creates without traces, in interleaved pairs: the
// rate, and the CPU time of the server for each create. Fails above its limit.
import { join } from "node:path";
import { startReceiver } from "../test/otlp-receiver.ts";
import { measureFreshPair, medianWithInterval } from "./pairs.ts";
import { median, oursCommand, start } from "./servers.ts";

const [rounds = 20, ratio = 0.01] = process.argv.slice(2).map(Number);
const costMax = 1.05;
await using receiver = startReceiver();
const ours = (environment: Record<string, string>) => () =>
  start("plant-store", {
    command: (port, folder) => oursCommand(port, join(folder, "plants.db"), []),
    environment,
  });
const traced = ours({
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  OTEL_TRACES_SAMPLER: "traceidratio",
  OTEL_TRACES_SAMPLER_ARG: String(ratio),
});
const starts = { server: traced, other: ours({}) };
const { rates, costs } = await measureFreshPair("with traces", starts, { rounds, seconds: 2 });
const requests = receiver.spans.filter(({ name }) => name === "POST /plants").length;
console.log(
  `with ${ratio} sampled: rate ${medianWithInterval(rates)}, CPU for each create ${medianWithInterval(costs)} of that without`,
);
console.log(`${requests} request spans arrived; problems: ${receiver.problems.length}`);
if (median(costs) > costMax) {
  console.log(`OVER THE LIMIT of ${costMax}`);
  process.exitCode = 1;
}
