import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

// For the data file and its threads, the database, the operator listener, and whatever looks at the process.
const descriptorsReserved = 200;
// What most systems give a process that asks for nothing.
const descriptorsUsual = 1024;
// More idle clients than anyone has; each costs some kilobytes.
const connectionsMax = 10_000;

/** How many connections this process may have open, within its limit of file descriptors. */
export function connectionLimit(descriptors = descriptorLimit()): number {
  const reserved = Math.min(descriptorsReserved, Math.ceil(descriptors / 2));
  return Math.max(1, Math.min(connectionsMax, descriptors - reserved));
}

// Node has no getrlimit, and Bun has raised the limit by the time this runs. Linux shows it as a file; elsewhere a shell
// inherits it and says what it is.
function descriptorLimit(): number {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limitsFile())?.[1] ?? shellLimit();
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft) || descriptorsUsual;
}

function limitsFile(): string {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return "";
  }
}

function shellLimit(): string {
  return spawnSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" }).stdout?.trim() ?? "";
}
