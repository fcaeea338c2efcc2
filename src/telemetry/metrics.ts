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
  /** Any other response without an error, and every response to a health check. */
  "other",
] as const;
export type RequestOutcome = (typeof requestOutcomes)[number];
/**
 * Which connection was closed for a new one at the connection limit: one without valid credentials, one whose request arrived
 * slowly, or an idle one. `idle` is also the new one itself, if no other may be closed.
 */
export type ClosedAtLimit = "stranger" | "slow" | "idle";
/** What the log, the metrics and the console call a listener. */
export type ListenerName = "public" | "operator";
/** The counters whose name ends with a number count the error responses of a listener that have that number. */
export type CounterName =
  | "created"
  | "replayed"
  | "batches"
  | "checkpoints"
  | "checkpoint-failures"
  | `closed-at-limit:${ClosedAtLimit}`
  | `${ListenerName}:${number}`;
/** What is set to its current value, and not counted. */
export type GaugeName = `connections:${ListenerName}`;
export type HistogramName =
  | `request:${RequestOutcome}`
  | "commit"
  | "fsync:wal"
  | "fsync:data"
  | "batch-plants";

// The bounds reach from a commit on a fast NVMe disk to the time after which clients give up.
const secondsBounds = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
// The bounds reach up to the intake's largest batch.
const plantsBounds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** The counters, gauges and histograms that the service records while it runs, by name. */
export class Metrics {
  readonly #values = new Map<CounterName | GaugeName, number>();
  readonly #histograms = new Map<HistogramName, Histogram>();

  add(name: CounterName, count = 1): void {
    this.#values.set(name, this.value(name) + count);
  }

  set(name: GaugeName, value: number): void {
    this.#values.set(name, value);
  }

  /** 0 if nothing was counted or set under this name. */
  value(name: CounterName | GaugeName): number {
    return this.#values.get(name) ?? 0;
  }

  histogram(name: HistogramName): Histogram {
    const known = this.#histograms.get(name);
    if (known !== undefined) return known;
    const histogram = new Histogram(name === "batch-plants" ? plantsBounds : secondsBounds);
    this.#histograms.set(name, histogram);
    return histogram;
  }
}

export interface Observations {
  /** Each bound, with the number of observations up to it. */
  readonly buckets: readonly (readonly [bound: number, count: number])[];
  readonly sum: number;
  readonly count: number;
}

/** Observations in buckets. Costs nanoseconds, since creates pay for it. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** One for each bound, and one for what is over the last. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#sum += value;
  }

  observed(): Observations {
    let count = 0;
    const buckets = this.#bounds.map((bound, index) => {
      count += this.#counts[index] as number;
      return [bound, count] as const;
    });
    return { buckets, sum: this.#sum, count: count + (this.#counts.at(-1) as number) };
  }
}
