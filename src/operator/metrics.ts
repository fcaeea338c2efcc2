import { readdir } from "node:fs/promises";
import packageFile from "../../package.json" with { type: "json" };
import { tokenState } from "../access/token.ts";
import { catalogue, type ErrorKind, publicKinds } from "../http/error-catalogue.ts";
import { page } from "../http/reply.ts";
import { type Route, route } from "../http/route.ts";
import { descriptorLimit } from "../system/descriptor-limit.ts";
import { refusalsOf } from "../telemetry/metrics.ts";
import type { OperatorDependencies } from "./operator-dependencies.ts";

/** What is read on each scrape. */
type MetricSources = Pick<
  OperatorDependencies,
  "store" | "metrics" | "listenerDependencies" | "publicListener" | "startedAtMs"
>;

const kindsOf = { public: publicKinds, operator: Object.keys(catalogue) as ErrorKind[] };

/** The metrics for Prometheus. */
export function metricsRoute(sources: MetricSources): Route {
  return route("GET", "/metrics", "metrics", async () => {
    addCounters(sources);
    await readValues(sources);
    return page("text/plain; version=0.0.4; charset=utf-8", sources.metrics.format());
  });
}

/** They are on the page before they count for the first time: Prometheus sees no increase from nothing to 1. */
function addCounters({ metrics, store }: MetricSources): void {
  for (const listener of ["public", "operator"] as const)
    for (const kind of kindsOf[listener]) refusalsOf(metrics, listener, catalogue[kind].error);
  if (store.engine !== "sqlite") return;
  for (const file of ["wal", "data"]) metrics.series("plant_store_fsync_duration_seconds", `file="${file}"`);
  metrics.series("plant_store_checkpoints_total");
  metrics.series("plant_store_checkpoint_failures_total");
}

/** Reads what the service does not record while it runs. What cannot be read is undefined, and so is left out. */
async function readValues(sources: MetricSources): Promise<void> {
  const { store, metrics, publicListener, startedAtMs } = sources;
  const { intake, readiness } = sources.listenerDependencies;
  const [state, canStore] = await Promise.all([readiness.check(), intake.canStore()]);
  const [disk, tokens, lastBackup, openDescriptors] = await Promise.all([
    orUndefined(store.archive.diskUsage()),
    // A scrape does not wait for a database that is known to be unreachable.
    canStore ? orUndefined(store.tokens.all()) : undefined,
    orUndefined(store.lastBackup?.()),
    // Only Linux has them as files.
    orUndefined(readdir("/proc/self/fd")),
  ]);

  const build = `version="${packageFile.version}",runtime="${navigator.userAgent}",engine="${store.engine}"`;
  metrics.series("plant_store_build_info", build).value = 1;
  const states = tokens?.map((token) => tokenState(token, Date.now()));
  for (const state of ["live", "expired", "revoked"])
    metrics.series("plant_store_tokens", `state="${state}"`).value = states?.filter(
      (one) => one === state,
    ).length;

  const cpu = process.cpuUsage();
  const descriptorsMax = descriptorLimit();
  metrics.set({
    plant_store_start_time_seconds: startedAtMs / 1000,
    plant_store_ready: state === "ready" ? 1 : 0,
    plant_store_pending_plants: intake.pending,
    plant_store_data_bytes: disk?.bytes,
    plant_store_wal_bytes: disk?.walBytes,
    plant_store_disk_free_bytes: disk?.diskFreeBytes,
    plant_store_last_backup_timestamp_seconds: seconds(lastBackup?.atMs),
    plant_store_followers_waiting_since_timestamp_seconds: seconds(store.archive.followersWaitSinceMs?.()),
    plant_store_tls_certificate_expiry_timestamp_seconds: seconds(publicListener.certificateExpiresAtMs),
    process_start_time_seconds: performance.timeOrigin / 1000,
    process_cpu_seconds_total: (cpu.user + cpu.system) / 1e6,
    process_resident_memory_bytes: process.memoryUsage.rss(),
    process_open_fds: openDescriptors?.length,
    // If there is no limit, there is no number to show.
    process_max_fds: Number.isFinite(descriptorsMax) ? descriptorsMax : undefined,
  });
}

function seconds(timeMs: number | undefined): number | undefined {
  return timeMs === undefined ? undefined : timeMs / 1000;
}

function orUndefined<Value>(read: Promise<Value> | undefined): Promise<Value | undefined> | undefined {
  return read?.catch(() => undefined);
}
