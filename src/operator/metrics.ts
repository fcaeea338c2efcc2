import { readdir } from "node:fs/promises";
import packageFile from "../../package.json" with { type: "json" };
import { type TokenStore, tokenState } from "../access/tokens.ts";
import { catalogue, type ErrorKind, publicKinds } from "../http/error-catalogue.ts";
import type { Readiness } from "../http/health.ts";
import { type Route, route } from "../http/route.ts";
import type { Intake } from "../plants/intake.ts";
import { descriptorLimit } from "../system/descriptor-limit.ts";
import {
  type CounterName,
  type HistogramName,
  type Metrics,
  type Observations,
  requestOutcomes,
} from "../telemetry/metrics.ts";
import type { OperatedStore } from "./operator-dependencies.ts";

const counter = (help: string) => ({ type: "counter", help }) as const;
const gauge = (help: string) => ({ type: "gauge", help }) as const;
const histogram = (help: string) => ({ type: "histogram", help }) as const;

/** Every metric, in the order of the page. docs/monitor.md, the dashboard and the alerts are tested against this table. */
export const metricFamilies = {
  plant_store_build_info: gauge("Always 1; the labels have the version, runtime and engine."),
  plant_store_ready: gauge("1 while /readyz returns 200."),
  plant_store_start_time_seconds: gauge("When this process started serving."),
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
  plant_store_connections_closed_at_limit_total: counter(
    "Other connections closed because the connection limit was reached, by reason.",
  ),
  plant_store_tokens: gauge("Stored tokens, by state."),
  plant_store_data_bytes: gauge("The size of the data file."),
  plant_store_wal_bytes: gauge("The size of the WAL."),
  plant_store_disk_free_bytes: gauge("The space left on their disk."),
  plant_store_last_backup_timestamp_seconds: gauge("When the last good backup was started."),
  plant_store_tls_certificate_expiry_timestamp_seconds: gauge("When the TLS certificate in use expires."),
  process_cpu_seconds_total: counter("User and system CPU time."),
  process_resident_memory_bytes: gauge("Resident memory."),
  process_open_fds: gauge("Open file descriptors."),
  process_max_fds: gauge("The limit of open file descriptors."),
  process_start_time_seconds: gauge("When the process was started."),
} as const;

/** What the samples are read from. */
interface MetricSources {
  readonly store: OperatedStore;
  readonly intake: Intake;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  /** When the TLS certificate expires; undefined without TLS. */
  readonly certificateExpiresAtMs: number | undefined;
  readonly startedAtMs: number;
}

const listeners = ["public", "operator"] as const;
const kindsOf = { public: publicKinds, operator: Object.keys(catalogue) as ErrorKind[] };
const errors = listeners.flatMap((listener) =>
  kindsOf[listener].map((kind) => ({ listener, error: catalogue[kind].error })),
);

/** The metrics for Prometheus, in its text format. */
export function metricsRoute(sources: MetricSources): Route {
  return route("GET", "/metrics", "metrics", async (exchange) => {
    const samples = { ...recordedSamples(sources), ...(await readCurrentSamples(sources)) };
    exchange.respond("text/plain; version=0.0.4; charset=utf-8", formatMetrics(samples));
  });
}

type MetricName = keyof typeof metricFamilies;
type Samples = Partial<Record<MetricName, readonly Sample[]>>;
/** A line of a metric: the suffix of its name if it is a histogram's, its labels, its value. */
type Sample = readonly [suffix: string, labels: Readonly<Record<string, string>>, value: number];

/** What `src/telemetry/events.ts` has recorded since the start. */
function recordedSamples({ metrics, store }: MetricSources): Samples {
  const countOf = (name: CounterName) => singleSample(metrics.value(name));
  const samplesOf = (name: HistogramName, labels?: Record<string, string>) =>
    histogramSamples(metrics.histogram(name).observed(), labels);
  return {
    plant_store_plants_created_total: countOf("created"),
    plant_store_plants_replayed_total: countOf("replayed"),
    plant_store_batches_total: countOf("batches"),
    plant_store_refusals_total: errors.map(({ listener, error }) => [
      "",
      { listener, error: String(error) },
      metrics.value(`${listener}:${error}`),
    ]),
    plant_store_idle_connections_closed_total: countOf("closed-at-limit:idle"),
    plant_store_connections_closed_at_limit_total: (["stranger", "slow"] as const).map((reason) => [
      "",
      { reason },
      metrics.value(`closed-at-limit:${reason}`),
    ]),
    plant_store_connections: listeners.map((listener) => [
      "",
      { listener },
      metrics.value(`connections:${listener}`),
    ]),
    plant_store_request_duration_seconds: requestOutcomes.flatMap((outcome) =>
      samplesOf(`request:${outcome}`, { outcome }),
    ),
    plant_store_commit_duration_seconds: samplesOf("commit"),
    plant_store_batch_plants: samplesOf("batch-plants"),
    ...(store.engine === "sqlite" && {
      plant_store_fsync_duration_seconds: (["wal", "data"] as const).flatMap((file) =>
        samplesOf(`fsync:${file}`, { file }),
      ),
      plant_store_checkpoints_total: countOf("checkpoints"),
      plant_store_checkpoint_failures_total: countOf("checkpoint-failures"),
    }),
  };
}

/** What is read on each scrape. A value that cannot be read is omitted. */
async function readCurrentSamples(sources: MetricSources): Promise<Samples> {
  const { store, intake, readiness, certificateExpiresAtMs, startedAtMs } = sources;
  const [state, canStore] = await Promise.all([readiness.check(), intake.canStore()]);
  const [disk, byState, last, openDescriptors] = await Promise.all([
    orUndefined(store.archive.diskUsage()),
    // A scrape does not wait for a database that is known to be unreachable.
    canStore ? orUndefined(tokensByState(store.tokens)) : undefined,
    orUndefined(store.lastBackup?.()),
    orUndefined(countDescriptors()),
  ]);
  const descriptorsMax = descriptorLimit();
  const cpu = process.cpuUsage();
  const build = { version: packageFile.version, runtime: navigator.userAgent, engine: store.engine };
  return {
    plant_store_build_info: [["", build, 1]],
    plant_store_ready: singleSample(state === "ready" ? 1 : 0),
    plant_store_pending_plants: singleSample(intake.pending),
    plant_store_start_time_seconds: singleSample(startedAtMs / 1000),
    plant_store_tokens: byState ?? [],
    plant_store_data_bytes: singleSample(disk?.bytes),
    plant_store_wal_bytes: singleSample(disk?.walBytes),
    plant_store_disk_free_bytes: singleSample(disk?.diskFreeBytes),
    plant_store_last_backup_timestamp_seconds: singleSample(last && last.atMs / 1000),
    plant_store_tls_certificate_expiry_timestamp_seconds: singleSample(
      certificateExpiresAtMs && certificateExpiresAtMs / 1000,
    ),
    process_cpu_seconds_total: singleSample((cpu.user + cpu.system) / 1e6),
    process_resident_memory_bytes: singleSample(process.memoryUsage.rss()),
    process_open_fds: singleSample(openDescriptors),
    // If there is no limit, there is no number to show.
    process_max_fds: singleSample(Number.isFinite(descriptorsMax) ? descriptorsMax : undefined),
    process_start_time_seconds: singleSample(performance.timeOrigin / 1000),
  };
}

/** The number of open file descriptors. @throws Error unless on Linux, which has them as files. */
async function countDescriptors(): Promise<number> {
  const names = await readdir("/proc/self/fd");
  return names.length;
}

async function tokensByState(tokens: TokenStore): Promise<Sample[]> {
  const nowMs = Date.now();
  const counts = { live: 0, expired: 0, revoked: 0 };
  for (const token of await tokens.all()) counts[tokenState(token, nowMs)]++;
  return Object.entries(counts).map(([state, count]) => ["", { state }, count]);
}

function orUndefined<Value>(read: Promise<Value> | undefined): Promise<Value | undefined> | undefined {
  return read?.catch(() => undefined);
}

function singleSample(number: number | undefined): Sample[] {
  return number === undefined ? [] : [["", {}, number]];
}

function histogramSamples(
  { buckets, sum, count }: Observations,
  labels: Record<string, string> = {},
): Sample[] {
  return [
    ...buckets.map(([bound, upTo]): Sample => ["_bucket", { ...labels, le: String(bound) }, upTo]),
    ["_bucket", { ...labels, le: "+Inf" }, count],
    ["_sum", labels, sum],
    ["_count", labels, count],
  ];
}

/** Writes Prometheus' text format. A metric without samples is left out. */
function formatMetrics(samples: Samples): string {
  const names = Object.keys(metricFamilies) as MetricName[];
  return names.map((name) => formatFamily(name, samples[name] ?? [])).join("");
}

function formatFamily(name: MetricName, samples: readonly Sample[]): string {
  if (samples.length === 0) return "";
  const { type, help } = metricFamilies[name];
  const lines = samples.map(
    ([suffix, labels, number]) => `${name}${suffix}${formatLabels(labels)} ${number}\n`,
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

/** The values are our own words and numbers, so none needs escaping. */
function formatLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}
