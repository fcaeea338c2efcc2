import { catalogue, type ErrorKind, publicKinds } from "../http/error-catalogue.ts";
import type { Route } from "../http/route.ts";
import type { PlantIntake } from "../plants/intake.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import type { Counters } from "../telemetry/counters.ts";

export interface MetricsParts {
  readonly counters: Counters;
  readonly archive: PlantArchive;
  readonly intake: PlantIntake;
  readonly pending: () => number;
  readonly startedAtMs: number;
}

const outcomeNames = ["created", "replayed", "batches"] as const;
const idleClosed = "idle-closed";
const allKinds = Object.keys(catalogue) as ErrorKind[];
/** Everything that is counted; an error by its listener and number. */
export const counterNames = [
  ...outcomeNames,
  idleClosed,
  ...publicKinds.map((kind) => `public:${catalogue[kind].error}`),
  ...allKinds.map((kind) => `operator:${catalogue[kind].error}`),
];

const startedAtSeconds = "plant_store_start_time_seconds";

/** For Prometheus, in its text format. */
export const metrics: Route<MetricsParts> = {
  method: "GET",
  path: "/metrics",
  scope: "metrics",
  handler: (parts) => async (exchange) =>
    exchange.respond("text/plain; version=0.0.4; charset=utf-8", await metricsText(parts)),
};

async function metricsText({
  counters,
  archive,
  intake,
  pending,
  startedAtMs,
}: MetricsParts): Promise<string> {
  const counts = new Map(counterNames.map((name) => [name, counters.total(name)]));
  const [ready, disk] = await Promise.all([intake.ready(), archive.diskUsage()]);
  const errors = [...counts].filter(([name]) => /:\d+$/.test(name));
  return [
    ...metric(
      "plant_store_plants_created_total",
      "counter",
      "Plants stored by this process.",
      counts.get("created"),
    ),
    ...metric(
      "plant_store_plants_replayed_total",
      "counter",
      "Plants that were stored already.",
      counts.get("replayed"),
    ),
    ...metric(
      "plant_store_batches_total",
      "counter",
      "Transactions that plants were stored in.",
      counts.get("batches"),
    ),
    "# HELP plant_store_refusals_total Error responses, by listener and number.",
    "# TYPE plant_store_refusals_total counter",
    ...errors.map(([name, count]) => {
      const [listener, error] = name.split(":");
      return `plant_store_refusals_total{listener="${listener}",error="${error}"} ${count}`;
    }),
    ...metric(
      "plant_store_idle_connections_closed_total",
      "counter",
      "Idle or new connections closed because the connection limit was reached.",
      counts.get(idleClosed),
    ),
    ...metric("plant_store_pending_plants", "gauge", "Plants waiting to be written.", pending()),
    ...metric("plant_store_ready", "gauge", "1 while plants can be stored.", ready ? 1 : 0),
    ...metric(startedAtSeconds, "gauge", "When this process began to serve.", startedAtMs / 1000),
    ...(disk === undefined
      ? []
      : [
          ...metric("plant_store_data_bytes", "gauge", "The size of the data file.", disk.bytes),
          ...metric("plant_store_wal_bytes", "gauge", "The size of the WAL beside it.", disk.walBytes),
          ...metric(
            "plant_store_disk_free_bytes",
            "gauge",
            "The space left on their disk.",
            disk.diskFreeBytes,
          ),
        ]),
    "",
  ].join("\n");
}

function metric(name: string, type: string, help: string, value: number | undefined): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${value ?? 0}`];
}
