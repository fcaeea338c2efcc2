// npm run bench:traces -- [ROUNDS] [RATIO]
// Durable creates with a share of the requests traced, 1% unless given, against creates without traces, in interleaved pairs: the
// rate, and the CPU time of the server for each create. The data is in memory, so that no fsync hides the difference. Fails above its
// limit.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startReceiver } from "../test/otlp-receiver.ts";
import { measureFreshPair, medianWithInterval } from "./pairs.ts";
import { median, memoryFolder, oursCommand, start } from "./servers.ts";

const [rounds = 20, ratio = 0.01] = process.argv.slice(2).map(Number);
const costMax = 1.05;
const memory = memoryFolder();
await using folders = new AsyncDisposableStack();
folders.defer(() => rmSync(memory, { recursive: true, force: true }));
await using receiver = startReceiver();
const ours = (environment: Record<string, string>) => () =>
  start("plant-store", {
    command: (port) => oursCommand(port, join(mkdtempSync(join(memory, "data-")), "plants.db"), []),
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
