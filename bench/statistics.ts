import { readFileSync } from "node:fs";

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** The median with its 95% confidence interval: the values between which the true median is in 95 of 100 such runs. */
export function medianWithInterval(values: readonly number[]): string {
  const [low, high] = medianInterval(values);
  return `${median(values).toFixed(3)} (95%: ${low.toFixed(3)} to ${high.toFixed(3)})`;
}

/**
 * By order statistics: how many of n values are below the median is binomial, so nothing is assumed about their distribution.
 * Fewer than six values have no such interval; theirs is from the lowest to the highest.
 */
export function medianInterval(values: readonly number[]): [low: number, high: number] {
  const sorted = values.toSorted((one, other) => one - other);
  const outsideMax = 0.025;
  let outside = 0.5 ** sorted.length;
  let rank = 0;
  for (let term = outside; outside <= outsideMax; rank++) {
    term = (term * (sorted.length - rank)) / (rank + 1);
    outside += term;
  }
  const first = Math.max(0, rank - 1);
  return [sorted[first] ?? 0, sorted.at(-1 - first) ?? 0];
}

const stealMax = 0.05;

/**
 * Repeats a measurement during which the hypervisor took too much of the processor, at most that many times per run. After that,
 * measurements are used as they are. Only Linux reports it.
 */
export class RepeatedWhereStolen {
  #repetitionsLeft: number;

  constructor(repetitionsMax: number) {
    this.#repetitionsLeft = repetitionsMax;
  }

  async run<Result>(measure: () => Promise<Result>): Promise<Result> {
    for (;;) {
      const before = readCpuTimes();
      const result = await measure();
      const after = readCpuTimes();
      const steal = (after.steal - before.steal) / Math.max(1, after.total - before.total);
      if (steal <= stealMax || this.#repetitionsLeft === 0) return result;
      this.#repetitionsLeft--;
      console.error(`again: the hypervisor took ${(steal * 100).toFixed(0)}% of the processor`);
    }
  }
}

/** From the first line of /proc/stat. */
function readCpuTimes(): { readonly total: number; readonly steal: number } {
  const text = process.platform === "linux" ? readFileSync("/proc/stat", "utf8") : "";
  // user, nice, system, idle, iowait, irq, softirq, steal
  const times = (/^cpu +(.*)$/m.exec(text)?.[1] ?? "").split(" ").slice(0, 8).map(Number);
  return { total: times.reduce((sum, time) => sum + time, 0), steal: times[7] ?? 0 };
}
