import { readdir } from "node:fs/promises";
import packageFile from "../../package.json" with { type: "json" };
import { tokenState } from "../access/token.ts";
import { catalogue, type ErrorKind, publicKinds } from "../http/error-catalogue.ts";
import type { Readiness } from "../http/health.ts";
import { page } from "../http/reply.ts";
import { type Route, route } from "../http/route.ts";
import type { Intake } from "../plants/intake.ts";
import { descriptorLimit } from "../system/descriptor-limit.ts";
import { type Metrics, refusalsOf } from "../telemetry/metrics.ts";
import type { OperatedStore } from "./operator-dependencies.ts";

/** What is read on each scrape. */
interface MetricSources {
  readonly store: OperatedStore;
  readonly intake: Intake;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  /** When the TLS certificate expires; undefined without TLS. */
  readonly certificateExpiresAtMs: number | undefined;
  readonly startedAtMs: number;
}

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
  const { store, intake, readiness, metrics, certificateExpiresAtMs, startedAtMs } = sources;
  const [state, canStore] = await Promise.all([readiness.check(), intake.canStore()]);
  const [disk, tokens, last, openDescriptors] = await Promise.all([
    orUndefined(store.archive.diskUsage()),
    // A scrape does not wait for a database that is known to be unreachable.
    canStore ? orUndefined(store.tokens.all()) : undefined,
    orUndefined(store.lastBackup?.()),
    orUndefined(countDescriptors()),
  ]);

  const build = `version="${packageFile.version}",runtime="${navigator.userAgent}",engine="${store.engine}"`;
  metrics.series("plant_store_build_info", build).value = 1;
  metrics.series("plant_store_start_time_seconds").value = startedAtMs / 1000;
  metrics.series("plant_store_ready").value = state === "ready" ? 1 : 0;
  metrics.series("plant_store_pending_plants").value = intake.pending;
  const states = tokens?.map((token) => tokenState(token, Date.now()));
  for (const state of ["live", "expired", "revoked"])
    metrics.series("plant_store_tokens", `state="${state}"`).value = states?.filter(
      (one) => one === state,
    ).length;

  metrics.series("plant_store_data_bytes").value = disk?.bytes;
  metrics.series("plant_store_wal_bytes").value = disk?.walBytes;
  metrics.series("plant_store_disk_free_bytes").value = disk?.diskFreeBytes;
  metrics.series("plant_store_last_backup_timestamp_seconds").value = last && last.atMs / 1000;
  const followersWaitSinceMs = store.archive.followersWaitSinceMs?.();
  metrics.series("plant_store_followers_waiting_since_timestamp_seconds").value =
    followersWaitSinceMs && followersWaitSinceMs / 1000;
  metrics.series("plant_store_tls_certificate_expiry_timestamp_seconds").value =
    certificateExpiresAtMs && certificateExpiresAtMs / 1000;

  metrics.series("process_start_time_seconds").value = performance.timeOrigin / 1000;
  const cpu = process.cpuUsage();
  metrics.series("process_cpu_seconds_total").value = (cpu.user + cpu.system) / 1e6;
  metrics.series("process_resident_memory_bytes").value = process.memoryUsage.rss();
  metrics.series("process_open_fds").value = openDescriptors;
  // If there is no limit, there is no number to show.
  const descriptorsMax = descriptorLimit();
  metrics.series("process_max_fds").value = Number.isFinite(descriptorsMax) ? descriptorsMax : undefined;
}

/** The number of open file descriptors. @throws Error unless on Linux, which has them as files. */
async function countDescriptors(): Promise<number> {
  const names = await readdir("/proc/self/fd");
  return names.length;
}

function orUndefined<Value>(read: Promise<Value> | undefined): Promise<Value | undefined> | undefined {
  return read?.catch(() => undefined);
}
