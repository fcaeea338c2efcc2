// npm run bench:import [-- ROWS] [--quick] [--write]
// Imports that many plants from NDJSON (a million by default), three times, and compares its rate with that of the plain
// load just before and after it. Prints the importer's memory early on and at its peak: it must stay flat.
import { once } from "node:events";
import { createWriteStream, rmSync } from "node:fs";
import { join } from "node:path";
import { ownOptions } from "./options.ts";
import { saveResults } from "./results.ts";
import { load, median, memoryMb, startOurs, temporaryFolder, token } from "./servers.ts";

const floor = 0.4;
const imports = 3;
const options = ownOptions();
const rows = Number(options.positional[0] ?? (options.quick ? 10_000 : 1_000_000));
const loadSeconds = 3;
const earlyMs = 2000;
const loadFirstId = 1_000_000_000;
const folder = temporaryFolder();
const main = join(import.meta.dir, "../src/main.ts");

await using ours = await startOurs();
let nextId = loadFirstId;
const loadRates = [await loadRate()];
const ratios: number[] = [];
let highestOfAllMb = 0;
for (let round = 0; round < imports; round++) {
  const file = join(folder, `plants-${round}.ndjson`);
  await writeRows(file, round * rows, rows);
  const { rate, earlyMb, highestMb } = await importFile(file);
  highestOfAllMb = Math.max(highestOfAllMb, highestMb);
  loadRates.push(await loadRate());
  const beside = ((loadRates.at(-2) ?? 0) + (loadRates.at(-1) ?? 0)) / 2;
  ratios.push(rate / beside);
  console.log(
    `${rows} rows   import ${Math.round(rate)}/s   load ${Math.round(beside)}/s   ratio ${(rate / beside).toFixed(2)}   ${earlyMb.toFixed(0)} MB early, ${highestMb.toFixed(0)} MB at most`,
  );
}
rmSync(folder, { recursive: true, force: true });
const ratio = median(ratios);
saveResults({ imports: { rows, ratio, highestMb: highestOfAllMb } }, options);
console.log(
  `import: ${ratio.toFixed(2)} of the load, floor ${floor}: ${ratio >= floor ? "fine" : "UNDER THE FLOOR"}`,
);
if (ratio < floor) process.exitCode = 1;

async function loadRate(): Promise<number> {
  const result = await load(ours, { connections: 64, seconds: loadSeconds, firstId: nextId });
  nextId = result.nextId;
  return result.rate;
}

async function importFile(file: string): Promise<{ rate: number; earlyMb: number; highestMb: number }> {
  const child = Bun.spawn(
    [process.execPath, main, "import", file, "--json", "--url", `http://127.0.0.1:${ours.port}`],
    { env: { PLANT_STORE_ACCESS_TOKEN: token }, stdout: "pipe", stderr: "ignore" },
  );
  let earlyMb = 0;
  let highestMb = 0;
  const startMs = performance.now();
  const watch = setInterval(async () => {
    highestMb = Math.max(highestMb, await memoryMb(child.pid).catch(() => 0));
    if (performance.now() - startMs < earlyMs) earlyMb = highestMb;
  }, 50);
  const report = JSON.parse(await new Response(child.stdout).text());
  await child.exited;
  clearInterval(watch);
  if (report.created !== rows)
    throw new Error(`the import did not create every row: ${JSON.stringify(report)}`);
  return { rate: report.rowsPerSecond, earlyMb, highestMb };
}

async function writeRows(file: string, first: number, count: number): Promise<void> {
  const out = createWriteStream(file);
  for (let id = first; id < first + count; ) {
    const last = Math.min(id + 10_000, first + count);
    let text = "";
    for (; id < last; id++) text += `{"id":${id},"name":"Fern number ${id}","tag":"indoor"}\n`;
    if (!out.write(text)) await once(out, "drain");
  }
  out.end();
  await once(out, "finish");
}
