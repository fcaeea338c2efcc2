import { catalogue, publicKinds } from "../http/error-catalogue.ts";
import type { PlantIntake } from "../plants/intake.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import type { Counters } from "../telemetry/counters.ts";
import type { Answer } from "./call.ts";

export interface MetricsParts {
  readonly counters: Counters;
  readonly archive: PlantArchive;
  readonly intake: PlantIntake;
  readonly pending: () => number;
}

/** What can be counted on the way of a plant, besides each error by its number. */
export const outcomeNames = ["created", "replayed", "batches"] as const;
const idleClosed = "idle-closed";
export const counterNames = [
  ...outcomeNames,
  idleClosed,
  ...publicKinds.map((kind) => String(catalogue[kind].error)),
];

const startedAtSeconds = "plant_store_start_time_seconds";

/** For Prometheus, in its text format. */
export function metrics({ counters, archive, intake, pending }: MetricsParts, startedAtMs: number): Answer {
  return async () => {
    const counts = new Map(counters.all());
    const [ready, disk] = await Promise.all([intake.ready(), archive.diskUsage()]);
    const errors = [...counts].filter(([name]) => /^\d+$/.test(name));
    const text = [
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
      "# HELP plant_store_refusals_total Error answers of the public listener, by their number.",
      "# TYPE plant_store_refusals_total counter",
      ...errors.map(([error, count]) => `plant_store_refusals_total{error="${error}"} ${count}`),
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
    return new Response(text, { headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" } });
  };
}

function metric(name: string, type: string, help: string, value: bigint | number | undefined): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${value ?? 0}`];
}
