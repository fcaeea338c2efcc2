import type { Counters } from "../telemetry/counters.ts";
import { quantile } from "../telemetry/histograms.ts";

const files = ["wal", "data"] as const;

/** The median and the 99th percentile of the fsyncs since the start, of each file that had any. */
export function fsyncTimes(counters: Pick<Counters, "observed">) {
  const times = files.flatMap((file) => {
    const observed = counters.observed(`fsync:${file}`);
    if (observed.count === 0) return [];
    const millis = (share: number): number => Number((quantile(observed, share) * 1000).toPrecision(2));
    return [[file, { count: observed.count, medianMs: millis(0.5), p99Ms: millis(0.99) }] as const];
  });
  return times.length === 0 ? undefined : Object.fromEntries(times);
}
