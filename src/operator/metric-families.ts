const counter = (help: string) => ({ type: "counter", help }) as const;
const gauge = (help: string) => ({ type: "gauge", help }) as const;
const histogram = (help: string) => ({ type: "histogram", help }) as const;

/** Every metric, in the order of the page. docs/monitor.md, the dashboard and the alerts are tested against this table. */
export const metricFamilies = {
  plant_store_build_info: gauge("Always 1; the labels have the version, runtime and engine."),
  plant_store_ready: gauge("1 while plants can be stored."),
  plant_store_start_time_seconds: gauge("When this process began to serve."),
  plant_store_plants_created_total: counter("Plants stored by this process."),
  plant_store_plants_replayed_total: counter("Plants that were stored already."),
  plant_store_pending_plants: gauge("Plants waiting to be written."),
  plant_store_request_duration_seconds: histogram(
    "From the head of a request on the public listener to its response, by outcome.",
  ),
  plant_store_refusals_total: counter("Error responses, by listener and number."),
  plant_store_batches_total: counter("Transactions that plants were stored in."),
  plant_store_batch_plants: histogram("Plants in one batch."),
  plant_store_commit_duration_seconds: histogram(
    "From the start of a batch's transaction until it is durable.",
  ),
  plant_store_fsync_duration_seconds: histogram(
    "Fsyncs on SQLite: of the WAL (except on Linux, the COMMIT with it), and of the data file in a checkpoint.",
  ),
  plant_store_checkpoints_total: counter("Checkpoints of the WAL."),
  plant_store_checkpoint_failures_total: counter("Checkpoints that failed."),
  plant_store_connections: gauge("Open connections, by listener."),
  plant_store_idle_connections_closed_total: counter(
    "Idle or new connections closed because the connection limit was reached.",
  ),
  plant_store_tokens: gauge("Stored tokens, by state."),
  plant_store_data_bytes: gauge("The size of the data file."),
  plant_store_wal_bytes: gauge("The size of the WAL."),
  plant_store_disk_free_bytes: gauge("The space left on their disk."),
  plant_store_last_backup_timestamp_seconds: gauge("When the last good backup was started."),
  process_cpu_seconds_total: counter("User and system CPU time."),
  process_resident_memory_bytes: gauge("Resident memory."),
  process_open_fds: gauge("Open file descriptors."),
  process_max_fds: gauge("The limit of open file descriptors."),
  process_start_time_seconds: gauge("When the process was started."),
} as const;
export type MetricName = keyof typeof metricFamilies;

/** A line of a metric: its name with a suffix if it is a histogram's, its labels, its value. */
export type Sample = readonly [suffix: string, labels: Readonly<Record<string, string>>, value: number];

/** In Prometheus' text format. A metric without samples is left out. */
export function formatMetrics(samples: Readonly<Partial<Record<MetricName, readonly Sample[]>>>): string {
  const names = Object.keys(metricFamilies) as MetricName[];
  return names.map((name) => formatFamily(name, samples[name] ?? [])).join("");
}

function formatFamily(name: MetricName, samples: readonly Sample[]): string {
  if (samples.length === 0) return "";
  const { type, help } = metricFamilies[name];
  const lines = samples.map(
    ([suffix, labels, value]) => `${name}${suffix}${formatLabels(labels)} ${formatValue(value)}\n`,
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function formatValue(value: number): string {
  return value === Number.POSITIVE_INFINITY ? "+Inf" : String(value);
}

// The values are our own words and numbers, so none needs escaping.
function formatLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}
