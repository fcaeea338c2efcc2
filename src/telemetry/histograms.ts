/** What became of a request, for its duration. The refusals are grouped by who has to act. */
export const requestOutcomes = [
  "created",
  "replayed",
  "conflict",
  "invalid",
  "denied",
  "rate_limited",
  "busy",
  "unavailable",
  "failed",
  /** Any other response without an error, such as those of health checks. */
  "other",
] as const;
export type RequestOutcome = (typeof requestOutcomes)[number];

const histogramNames = [
  ...requestOutcomes.map((outcome) => `request:${outcome}` as const),
  "commit",
  "fsync:wal",
  "fsync:data",
  "batch-plants",
] as const;
export type HistogramName = (typeof histogramNames)[number];

// From a commit on a fast NVMe disk to the time after which clients give up.
const secondsBounds = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
// Up to the intake's largest batch.
const plantsBounds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** Every histogram, with the upper bounds of its buckets; the last one has none. */
export const histogramBounds = new Map<HistogramName, readonly number[]>(
  histogramNames.map((name) => [name, name === "batch-plants" ? plantsBounds : secondsBounds]),
);

/** How many numbers a histogram needs: its buckets, the one without a bound, and the sum. */
export function numbersOf(bounds: readonly number[]): number {
  return bounds.length + 2;
}

/** Observations of one thread. Costs nanoseconds, since creates pay for it. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #numbers: Float64Array;

  constructor(bounds: readonly number[], numbers: Float64Array) {
    this.#bounds = bounds;
    this.#numbers = numbers;
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    const numbers = this.#numbers;
    const sum = bounds.length + 1;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    numbers[bucket] = (numbers[bucket] as number) + 1;
    numbers[sum] = (numbers[sum] as number) + value;
  }
}

export interface Observed {
  /** Each bound, with the number of observations up to it. */
  readonly buckets: readonly (readonly [bound: number, count: number])[];
  readonly sum: number;
  readonly count: number;
}

/** Sums the observations of all threads. */
export function mergeObserved(bounds: readonly number[], threads: readonly Float64Array[]): Observed {
  const total = (index: number): number => threads.reduce((sum, numbers) => sum + (numbers[index] ?? 0), 0);
  let count = 0;
  const buckets = bounds.map((bound, index) => {
    count += total(index);
    return [bound, count] as const;
  });
  return { buckets, sum: total(bounds.length + 1), count: count + total(bounds.length) };
}

/** A quantile, estimated within its bucket as Prometheus does. */
export function quantile({ buckets, count }: Observed, share: number): number {
  const rank = share * count;
  let below = { bound: 0, count: 0 };
  for (const [bound, upTo] of buckets) {
    if (upTo >= rank && upTo > below.count)
      return below.bound + ((bound - below.bound) * (rank - below.count)) / (upTo - below.count);
    below = { bound, count: upTo };
  }
  return below.bound;
}
