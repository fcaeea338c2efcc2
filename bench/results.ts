import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import type { GrowthPoint } from "./growth.ts";
import { report } from "./report.ts";

export interface Row {
  readonly name: string;
  readonly durability: string;
  readonly rate: number;
  readonly ratio: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  readonly memoryMb: number;
  readonly cpuUsPerCreate: number | undefined;
}

export interface Results {
  readonly machine?: string;
  readonly date?: string;
  /** By number of connections. */
  readonly rates?: Readonly<Record<string, readonly Row[]>>;
  readonly halfRate?: { readonly rate: number; readonly oursP99Us: number; readonly bareP99Us: number };
  readonly fsyncsPerSecond?: number;
  readonly growth?: readonly GrowthPoint[];
  readonly pauses?: {
    readonly minutes: number;
    readonly plants: number;
    readonly longestSilenceMs: number;
    readonly slowestAnswerMs: number;
    readonly memoryMb: readonly number[];
  };
}

const folder = join(import.meta.dir, "../docs/benchmarks");
const file = join(folder, "results.json");

export function knownResults(): Results {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Results) : {};
}

/** Adds to what is known and writes the page and its charts anew. */
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
