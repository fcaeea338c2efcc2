import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./servers.ts";

/** A span of the monotonic clock. */
export interface Span {
  readonly startUs: number;
  readonly us: number;
}

/** When a service waited for its disk, and when the hypervisor did not run a core. */
export interface Waits extends Disposable {
  /** For the service. */
  readonly environment: Record<string, string>;
  readonly disk: () => Span[];
  readonly stalls: () => Span[];
}

/** Starts recording; undefined without a C compiler, or without permission for the highest priority. */
export async function recordWaits(): Promise<Waits | undefined> {
  const folder = temporaryFolder();
  const [shim, meter] = [join(folder, "disk-waits.so"), join(folder, "cpu-stalls")];
  const [diskFile, stallsFile] = [join(folder, "disk"), join(folder, "stalls")];
  const compiled =
    compile("disk-waits.c", shim, ["-shared", "-fPIC", "-ldl"]) &&
    compile("cpu-stalls.c", meter, ["-pthread"]);
  const metering = compiled
    ? Bun.spawn([meter], { stdout: Bun.file(stallsFile), stderr: "inherit" })
    : undefined;
  const dispose = (): void => {
    metering?.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  await Bun.sleep(meterStartMs);
  if (metering === undefined || metering.exitCode !== null) return void dispose();
  return {
    environment: { LD_PRELOAD: shim, DISK_WAITS: diskFile },
    disk: () => readSpans(diskFile),
    stalls: () => readSpans(stallsFile),
    [Symbol.dispose]: dispose,
  };
}

// A meter that lacks permission has exited within this time.
const meterStartMs = 200;

/** How much of the span is in none of the others, which are in order of their starts and may overlap. */
export function restUs({ startUs, us }: Span, others: readonly Span[]): number {
  const endUs = startUs + us;
  let rest = 0;
  let reachedUs = startUs;
  for (const other of others) {
    if (other.startUs >= endUs) break;
    rest += Math.max(0, other.startUs - reachedUs);
    reachedUs = Math.max(reachedUs, other.startUs + other.us);
  }
  return rest + Math.max(0, endUs - reachedUs);
}

/** One "START LENGTH" per line, as disk-waits.c and cpu-stalls.c write it. */
function readSpans(file: string): Span[] {
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  return lines
    .filter((line) => line !== "")
    .map((line) => {
      const [startUs = 0, us = 0] = line.split(" ").map(Number);
      return { startUs, us };
    });
}

function compile(source: string, target: string, flags: readonly string[]): boolean {
  return (
    spawnSync("cc", ["-O1", "-o", target, join(import.meta.dir, source), ...flags], { stdio: "inherit" })
      .status === 0
  );
}
