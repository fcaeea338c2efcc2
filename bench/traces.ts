// npm run bench:traces -- [ROUNDS] [RATIO]
// Durable creates with a share of the requests traced, 1% unless given, against creates without traces, in a copy of the source that
// switches them on and off in turns: the rate, and the CPU time of the server for each create, exports included. The data is in
// memory, so that no fsync hides the difference. Fails above its limit.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { measureSwitched, medianWithInterval } from "./pairs.ts";
import { median, memoryFolder, oursCommand, start } from "./servers.ts";
import { tracesSwitch, writeSwitchedCopy } from "./switched.ts";

const [rounds = 20, ratio = 0.01] = process.argv.slice(2).map(Number);
const costMax = 1.05;
const memory = memoryFolder();
await using folders = new AsyncDisposableStack();
folders.defer(() => rmSync(memory, { recursive: true, force: true }));
// It only stores what arrives: what a collector does with it is not the service's cost.
const exported: string[] = [];
await using collector = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    exported.push(await request.text());
    return Response.json({});
  },
});
const { switchFile, checkout } = writeSwitchedCopy(memory, tracesSwitch);
const startServer = () => {
  const database = join(mkdtempSync(join(memory, "data-")), "plants.db");
  return start("plant-store", {
    command: (port) => oursCommand(port, database, [], checkout),
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
      OTEL_TRACES_SAMPLER: "traceidratio",
      OTEL_TRACES_SAMPLER_ARG: String(ratio),
    },
  });
};
const { rates, costs } = await measureSwitched("with traces", startServer, {
  rounds,
  seconds: 5,
  turns: { seconds: 0.1, pauseMs: 60, switchFile },
});
const requests = exported.join("").match(/"name":"POST \/plants"/g)?.length ?? 0;
console.log(
  `with ${ratio} sampled: rate ${medianWithInterval(rates)}, CPU for each create ${medianWithInterval(costs)} of that without`,
);
console.log(`${requests} request spans arrived`);
if (median(costs) > costMax) {
  console.log(`OVER THE LIMIT of ${costMax}`);
  process.exitCode = 1;
}
