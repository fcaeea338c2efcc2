import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

// For the data file and its threads, the database, and whatever inspects the process.
const descriptorsReserved = 200;
// The default limit of most systems.
const descriptorsUsual = 1024;
// More idle clients than anyone has; each costs a few kilobytes.
const connectionsMax = 10_000;
// A console and its event stream need a handful; 100 may watch, and exports and scrapes come on top.
const operatorConnectionsMax = 500;

/** How many connections each listener may have open, within the process's limit of file descriptors. */
export interface ConnectionBudget {
  readonly publicMax: number;
  /** Separate, so that a flood on the public listener does not lock operators out. */
  readonly operatorMax: number;
}

export function connectionBudget(descriptors = descriptorLimit()): ConnectionBudget {
  const reserved = Math.min(descriptorsReserved, Math.ceil(descriptors / 2));
  const total = Math.max(2, Math.min(connectionsMax, descriptors - reserved));
  const operatorMax = Math.min(operatorConnectionsMax, Math.ceil(total / 8));
  return { publicMax: total - operatorMax, operatorMax };
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
