// bun bench/results.ts regenerates docs/benchmarks.md from docs/benchmarks/results.json.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { join } from "node:path";
import type { BenchOptions } from "./options.ts";
import { type Results, report } from "./report.ts";

const docsFolder = join(import.meta.dir, "../docs");
const resultsFile = "benchmarks/results.json";

export function knownResults(docs = docsFolder): Results {
  const file = join(docs, resultsFile);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Results) : {};
}

/** With --write, adds to the stored results, and rewrites the page and its charts; otherwise says how to. */
export function saveResults(more: Results, { write }: Pick<BenchOptions, "write">, docs = docsFolder): void {
  if (!write)
    return console.error("Nothing was written. Use --write to add the results to docs/benchmarks.md.");
  const known = knownResults(docs);
  const now = Object.fromEntries(Object.keys(more).map((section) => [section, machine()]));
  const results: Results = { ...known, ...more, measured: { ...known.measured, ...now } };
  mkdirSync(join(docs, "benchmarks"), { recursive: true });
  writeFileSync(join(docs, resultsFile), `${JSON.stringify(results, null, 2)}\n`);
  writePage(results, docs);
  console.error(`Written: docs/benchmarks.md, as measured ${machine()}`);
}

function writePage(results: Results, docs: string): void {
  for (const [name, text] of Object.entries(report(results))) writeFileSync(join(docs, name), text);
}

/** When and where something was measured. */
function machine(): string {
  const date = new Date().toISOString().slice(0, 10);
  const system = `${process.platform === "linux" ? "Linux" : process.platform} ${release()}`;
  return `on ${date}, on ${cpus().length} cores (${process.arch}), ${system}, Bun ${Bun.version}`;
}

if (import.meta.main) writePage(knownResults(), docsFolder);
