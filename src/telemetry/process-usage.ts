import { readdir, readFile } from "node:fs/promises";

export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly descriptors: number;
  /** Infinity if there is no limit. */
  readonly descriptorsMax: number;
  readonly startedAtSeconds: number;
}

// The kernel reports times in these units, whatever it uses itself.
const ticksPerSecond = 100;
// Their positions after the name, which is in parentheses and may contain spaces.
const userTicks = 11;
const systemTicks = 12;
const startTicks = 19;

/**
 * What the process and its threads use. Only Linux has it as files.
 * @throws Error elsewhere.
 */
export async function readProcessUsage(): Promise<ProcessUsage> {
  const [stat, status, limits, system, descriptors] = await Promise.all([
    readFile("/proc/self/stat", "utf8"),
    readFile("/proc/self/status", "utf8"),
    readFile("/proc/self/limits", "utf8"),
    readFile("/proc/stat", "utf8"),
    readdir("/proc/self/fd"),
  ]);
  const fields = stat.slice(stat.lastIndexOf(") ") + 2).split(" ");
  const seconds = (position: number): number => Number(fields[position]) / ticksPerSecond;
  const found = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? "";
  const limit = found(limits, /^Max open files\s+(\S+)/m);
  return {
    cpuSeconds: seconds(userTicks) + seconds(systemTicks),
    residentBytes: Number(found(status, /^VmRSS:\s+(\d+) kB/m)) * 1024,
    descriptors: descriptors.length,
    descriptorsMax: limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit),
    startedAtSeconds: Number(found(system, /^btime (\d+)/m)) + seconds(startTicks),
  };
}
