// npm run bench:metrics -- [ROUNDS]
// Durable creates with metrics against those without, in a copy of the source that switches them on and off in turns. The data is in
// memory, so that no fsync hides the difference. Fails if the 95% confidence interval of the rates shows that the metrics cost
// something.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { measureSwitched, medianInterval, medianWithInterval } from "./pairs.ts";
import { memoryFolder, oursCommand, start } from "./servers.ts";
import { metricsSwitch, writeSwitchedCopy } from "./switched.ts";

const rounds = Number(process.argv[2] ?? 20);
const memory = memoryFolder();
await using folders = new AsyncDisposableStack();
folders.defer(() => rmSync(memory, { recursive: true, force: true }));
const { switchFile, checkout } = writeSwitchedCopy(memory, metricsSwitch);
const startServer = () => {
  const database = join(mkdtempSync(join(memory, "data-")), "plants.db");
  return start("plant-store", { command: (port) => oursCommand(port, database, [], checkout) });
};
const { rates, costs } = await measureSwitched("with metrics", startServer, {
  rounds,
  seconds: 5,
  turns: { seconds: 0.05, switchFile },
});
console.log(
  `with metrics: rate ${medianWithInterval(rates)}, CPU for each create ${medianWithInterval(costs)} of that without`,
);
if (medianInterval(rates)[1] < 1) {
  console.log("THE METRICS COST MORE THAN NOISE");
  process.exitCode = 1;
}
