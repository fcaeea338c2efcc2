// The bounds reach from a commit on a fast NVMe disk to the time after which clients give up.
const secondsBounds = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
// The bounds reach up to the intake's largest batch.
const plantsBounds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

const counter = (help: string) => ({ type: "counter", help }) as const;
const gauge = (help: string) => ({ type: "gauge", help }) as const;
const histogram = (bounds: readonly number[], help: string) => ({ type: "histogram", bounds, help }) as const;

/** Every metric, in the order of the page. docs/monitor.md, the dashboard and the alerts are tested against this table. */
export const metricFamilies = {
  plant_store_build_info: gauge("Always 1; the labels have the version, runtime and engine."),
  plant_store_ready: gauge("1 while /readyz returns 200."),
  plant_store_start_time_seconds: gauge("When this process started serving."),
  plant_store_plants_created_total: counter("Plants stored by this process."),
  plant_store_plants_replayed_total: counter("Plants that were stored already."),
  plant_store_pending_plants: gauge("Plants waiting to be written."),
  plant_store_request_duration_seconds: histogram(
    secondsBounds,
    "From the head of a request on the public listener to its response, by outcome.",
  ),
  plant_store_refusals_total: counter("Error responses, by listener and number."),
  plant_store_batches_total: counter("Transactions that plants were stored in."),
  plant_store_batch_plants: histogram(plantsBounds, "Plants in one batch."),
  plant_store_commit_duration_seconds: histogram(
    secondsBounds,
    "From the start of a batch's transaction until it is durable.",
  ),
  plant_store_fsync_duration_seconds: histogram(
    secondsBounds,
    "Fsyncs on SQLite: of the WAL (except on Linux, the COMMIT with it), and of the data file in a checkpoint.",
  ),
  plant_store_checkpoints_total: counter("Checkpoints of the WAL."),
  plant_store_checkpoint_failures_total: counter("Checkpoints that failed."),
  plant_store_connections: gauge("Open connections, by listener."),
  plant_store_idle_connections_closed_total: counter(
    "Idle or new connections closed because the connection limit was reached.",
  ),
  plant_store_connections_closed_at_limit_total: counter(
    "Other connections closed because the connection limit was reached, by reason.",
  ),
  plant_store_tokens: gauge("Stored tokens, by state."),
  plant_store_data_bytes: gauge("The size of the data file."),
  plant_store_wal_bytes: gauge("The size of the WAL."),
  plant_store_disk_free_bytes: gauge("The space left on their disk."),
  plant_store_last_backup_timestamp_seconds: gauge("When the last good backup was started."),
  plant_store_followers_waiting_since_timestamp_seconds: gauge(
    "Since when an older transaction on PostgreSQL keeps plants from followers.",
  ),
  plant_store_tls_certificate_expiry_timestamp_seconds: gauge("When the TLS certificate in use expires."),
  process_cpu_seconds_total: counter("User and system CPU time."),
  process_resident_memory_bytes: gauge("Resident memory."),
  process_open_fds: gauge("Open file descriptors."),
  process_max_fds: gauge("The limit of open file descriptors."),
  process_start_time_seconds: gauge("When the process was started."),
} as const;

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

type MetricName = keyof typeof metricFamilies;
interface Counter {
  value: number;
}
/** One that is undefined is not on the page. */
interface Gauge {
  value: number | undefined;
}
type SeriesOf<Type> = Type extends "histogram" ? Histogram : Type extends "counter" ? Counter : Gauge;
type Series<Name extends MetricName> = SeriesOf<(typeof metricFamilies)[Name]["type"]>;

type Family = Map<string, Gauge | Histogram>;
const names = Object.keys(metricFamilies) as MetricName[];

/** The metrics of one service: what it counts and measures, and the page of it. */
export class Metrics {
  /** The series of each metric, by their labels. */
  readonly #families = Object.fromEntries(names.map((name) => [name, new Map()])) as Record<
    MetricName,
    Family
  >;

  /** The series of these labels, which are written as on the page. It is there from its first use on. */
  series<Name extends MetricName>(name: Name, labels = ""): Series<Name> {
    return this.#families[name].getOrInsertComputed(labels, () => newSeries(name)) as Series<Name>;
  }

  /** Sets values that are read for the page. What is undefined could not be read. */
  set(values: { readonly [Name in MetricName]?: Series<Name> extends Gauge ? Gauge["value"] : never }): void {
    for (const [name, value] of Object.entries(values))
      (this.series(name as MetricName) as Gauge).value = value;
  }

  /** The page, in Prometheus' text format. A metric without values is left out. */
  format(): string {
    return names.map((name) => formatFamily(name, this.#families[name])).join("");
  }
}

/** The error responses of a listener with that number. */
export function refusalsOf(metrics: Metrics, listener: ListenerName, error: number): Counter {
  return metrics.series("plant_store_refusals_total", `listener="${listener}",error="${error}"`);
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

  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** Its lines on the page; each bucket has all observations up to its bound. */
  format(name: string, labels: string): string {
    let upTo = 0;
    const buckets = this.#bounds.map((bound, index) => {
      upTo += this.#counts[index] as number;
      return formatLine(`${name}_bucket`, joinLabels(labels, `le="${bound}"`), upTo);
    });
    return [
      ...buckets,
      formatLine(`${name}_bucket`, joinLabels(labels, 'le="+Inf"'), this.count),
      formatLine(`${name}_sum`, labels, this.#sum),
      formatLine(`${name}_count`, labels, this.count),
    ].join("");
  }
}

function newSeries(name: MetricName): Gauge | Histogram {
  const family = metricFamilies[name];
  if (family.type === "histogram") return new Histogram(family.bounds);
  return { value: family.type === "counter" ? 0 : undefined };
}

function formatFamily(name: MetricName, family: Family): string {
  const { type, help } = metricFamilies[name];
  const lines = Array.from(family, ([labels, series]) => formatSeries(name, labels, series)).join("");
  return lines === "" ? "" : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines}`;
}

function formatSeries(name: string, labels: string, series: Gauge | Histogram): string {
  if (series instanceof Histogram) return series.format(name, labels);
  return series.value === undefined ? "" : formatLine(name, labels, series.value);
}

function formatLine(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}\n`;
}

function joinLabels(labels: string, last: string): string {
  return labels === "" ? last : `${labels},${last}`;
}
