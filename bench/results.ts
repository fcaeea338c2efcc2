import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { type Results, report } from "./report.ts";

const folder = join(import.meta.dir, "../docs/benchmarks");
const file = join(folder, "results.json");

export function knownResults(): Results {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Results) : {};
}

/** Adds to the stored results, and rewrites the page and its charts. */
export function saveResults(more: Results): void {
  mkdirSync(folder, { recursive: true });
  const machine = `${cpus().length} cores (${process.arch}), ${process.platform}, Bun ${Bun.version}`;
  const results: Results = {
    ...knownResults(),
    ...more,
    machine,
    date: new Date().toISOString().slice(0, 10),
  };
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  for (const [name, text] of Object.entries(report(results))) writeFileSync(join(folder, "..", name), text);
  console.error("Written: docs/benchmarks.md");
}
