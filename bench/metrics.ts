// npm run bench:metrics -- [ROUNDS]
// Durable creates with metrics against a copy of the source without them, in interleaved pairs. The data is in memory, so that no
// fsync hides the difference. Fails where the 95% confidence interval of the rates says that the metrics cost something.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { measureFreshPair, medianInterval, medianWithInterval } from "./pairs.ts";
import { memoryFolder, oursCommand, start, temporaryFolder } from "./servers.ts";

const rounds = Number(process.argv[2] ?? 20);
const root = join(import.meta.dir, "..");
// Every clock that is read and every number that is counted for the metrics alone.
const removals: [file: string, text: string, replacement: string][] = [
  ["http/listener.ts", 'name === "public" ? events.responded : undefined', "undefined"],
  ["http/exchange.ts", "readonly startedMs = performance.now();", "readonly startedMs = 0;"],
  [
    "telemetry/histograms.ts",
    "observe(value: number): void {",
    "observe(value: number): void {\n    return;",
  ],
  [
    "telemetry/counters.ts",
    "add(name: string, count = 1): void {",
    "add(name: string, count = 1): void {\n    return;",
  ],
  [
    "telemetry/counters.ts",
    "set(name: string, value: number): void {",
    "set(name: string, value: number): void {\n    return;",
  ],
];
const memory = memoryFolder();
const copy = temporaryFolder();
await using folders = new AsyncDisposableStack();
for (const used of [memory, copy]) folders.defer(() => rmSync(used, { recursive: true, force: true }));
writeSourceWithoutMetrics(copy);

const ours = (checkout: string) => () => {
  const database = join(mkdtempSync(join(memory, "data-")), "plants.db");
  return start("plant-store", { command: (port) => oursCommand(port, database, [], checkout) });
};
const starts = { server: ours(root), other: ours(copy) };
const { rates, costs } = await measureFreshPair("with metrics", starts, { rounds, seconds: 2 });
console.log(
  `with metrics: rate ${medianWithInterval(rates)}, CPU for each create ${medianWithInterval(costs)} of that without`,
);
if (medianInterval(rates)[1] < 1) {
  console.log("THE METRICS COST MORE THAN NOISE");
  process.exitCode = 1;
}

function writeSourceWithoutMetrics(folder: string): void {
  for (const path of ["src", "package.json"])
    cpSync(join(root, path), join(folder, path), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const [file, text, replacement] of removals) {
    const path = join(folder, "src", file);
    const source = readFileSync(path, "utf8");
    if (!source.includes(text))
      throw new Error(`src/${file} no longer has "${text}"; adapt bench/metrics.ts`);
    writeFileSync(path, source.replace(text, replacement));
  }
}
