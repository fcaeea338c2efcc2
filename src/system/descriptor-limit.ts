import { readFileSync } from "node:fs";

/**
 * How many file descriptors the process may have open, which may be Infinity; undefined if the system does not say. Node has no
 * getrlimit, but Linux shows the limit as a file.
 */
export function descriptorLimit(): number | undefined {
  let limits: string;
  try {
    limits = readFileSync("/proc/self/limits", "utf8");
  } catch {
    return undefined;
  }
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1];
  if (soft === undefined) return undefined;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
}
