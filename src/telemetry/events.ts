import { messageOf } from "../system/errors.ts";
import { isoTime } from "../text/time.ts";
import type { Log, LogFields } from "./log.ts";
import {
  type ClosedAtLimit,
  type Histogram,
  type ListenerName,
  type Metrics,
  type RequestOutcome,
  requestOutcomes,
} from "./metrics.ts";
import { RecentRefusals } from "./recent-refusals.ts";
import { RefusedSenders, type SentError } from "./refused-senders.ts";

/** Everything the running service logs and counts, one helper per event. None throws. How it started, `serve` logs itself. */
export type Events = ReturnType<typeof createEvents>;

// A flood of refusals, or of failures under overload, must not become a flood of lines.
const linesPerSecondMax = 20;
const limitReachedLinesPerSecondMax = 1;

export function createEvents(log: Log, metrics: Metrics, now: () => number) {
  // What the metrics have as histograms.
  const durations = Object.fromEntries(
    requestOutcomes.map((outcome) => [outcome, metrics.histogram(`request:${outcome}`)]),
  ) as Record<RequestOutcome, Histogram>;
  const batchPlants = metrics.histogram("batch-plants");
  const commits = metrics.histogram("commit");
  const fsyncs = { wal: metrics.histogram("fsync:wal"), data: metrics.histogram("fsync:data") };

  // What the console shows of the error responses.
  const refusals = new RecentRefusals();
  const refusedSenders = new RefusedSenders();

  // Each limit reports what was not logged at the level of the lines that it limits.
  const mayLogRefusal = createLineLimit(
    now,
    linesPerSecondMax,
    log.info,
    "more requests were refused than are logged",
  );
  const mayLogFailure = createLineLimit(
    now,
    linesPerSecondMax,
    log.error,
    "more requests failed than are logged",
  );
  const mayLogLimitReached = createLineLimit(
    now,
    limitReachedLinesPerSecondMax,
    log.warn,
    "more connections were closed at the limit than are logged",
  );

  const internalError = (fields: () => LogFields, error: unknown): void => {
    if (mayLogFailure()) log.error("internal error", { ...fields(), ...exceptionFields(error) });
  };
  // Why the database was unavailable at the last attempt.
  let unavailableReason = "";

  return {
    stored(batch: Readonly<Record<"created" | "replayed" | "plants" | "tookMs", number>>) {
      metrics.add("batches");
      metrics.add("created", batch.created);
      metrics.add("replayed", batch.replayed);
      batchPlants.observe(batch.plants);
      commits.observe(batch.tookMs / 1000);
    },
    requestTimed: (outcome: RequestOutcome, tookMs: number) => durations[outcome].observe(tookMs / 1000),
    synced: (file: "wal" | "data", tookMs: number) => fsyncs[file].observe(tookMs / 1000),
    diskStalled: () => log.warn("the disk is stalling; creates wait until it recovers"),
    diskRecovered: (tookMs: number) =>
      log.warn("the disk stalled; creates waited until it recovered", {
        "plant_store.seconds": Math.round(tookMs / 100) / 10,
      }),
    checkpointed: (hasSucceeded: boolean) =>
      metrics.add(hasSucceeded ? "checkpoints" : "checkpoint-failures"),
    connections: (listener: ListenerName, open: number) => metrics.set(`connections:${listener}`, open),
    /** Called for every error response, logged or not. */
    errorSent(sent: SentError) {
      const atMs = now();
      metrics.add(`${sent.listener}:${sent.error}`);
      if (sent.listener === "public") refusals.add(atMs);
      refusedSenders.record(sent, atMs);
    },
    /** The error responses of the public listener over time. */
    refusals,
    /** Who got error responses last, on either listener. */
    refusedSenders,
    answered: (fields: LogFields) => log.info("answered", fields),
    /** The fields are computed only if the line is written. */
    failed(fields: () => LogFields) {
      if (mayLogFailure()) log.error("failed", fields());
    },
    refused(fields: () => LogFields) {
      if (mayLogRefusal()) log.info("refused", fields());
    },
    /** The fields identify the request, if there is one. */
    internalError,
    /** The response to a stored plant could not be made. */
    settleFailed: (error: unknown) => internalError(() => ({}), error),
    /** A backup of the console; the problem is a sentence for the operator. The fields identify the request. */
    backupFailed: (fields: LogFields, problem: string) =>
      log.warn("a backup could not be made", { ...fields, "exception.message": problem }),
    backupFolderUnavailable: (problem: string) =>
      log.warn("there can be no backups in the backup folder", { "exception.message": problem }),
    storeUnavailable: (reason: Error) =>
      log.error("store unavailable, retrying", { "exception.message": reason.message }),
    storeAvailable: () => log.info("store available again"),
    outcomeUnknown: (reason: Error) =>
      log.error("write outcome unknown; stopping so that a restart can check what was stored", {
        "exception.message": reason.message,
      }),
    dataFileShared: () =>
      log.warn(
        "another process has the data file open; the WAL is durable, and stays until that process closes the file",
      ),
    plantsMissing: (plants: number, inBackup: number) =>
      log.warn("the data file has fewer plants than its last backup; is it an older copy?", {
        "plant_store.plants": plants,
        "plant_store.backup_plants": inBackup,
      }),
    walMovedAway: (folder: string) =>
      log.warn("the WAL of the old data file was moved away, since the file was replaced", {
        "plant_store.folder": folder,
      }),
    rebuilding: (bytes: number) =>
      log.warn("rebuilding the data file after a failed fsync; this copies all of it", {
        "file.size": bytes,
      }),
    markerNotWritten: (reason: string) =>
      log.error(
        "the failure marker could not be written; before the next start, restore a lost data file, otherwise reboot",
        { "exception.message": reason },
      ),
    dataFileLost: (reason: Error) =>
      log.error(
        "the data file was lost; unless it was overwritten, copy it from this process before you stop it, as docs/operating.md says under Crashes",
        { "exception.message": reason.message },
      ),
    walIndexLost: (reason: Error) =>
      log.error("stopping without a checkpoint, since another process may write to the WAL; start it again", {
        "exception.message": reason.message,
      }),
    presetIsStored: (preset: string, stored: string) =>
      log.warn("a preset token has the secret of a stored token; only the preset's scope applies", {
        "plant_store.preset_token": preset,
        "plant_store.token": stored,
      }),
    usesNotWritten: (reason: unknown) =>
      log.debug("the last uses of tokens could not be written", {
        "exception.message": messageOf(reason),
      }),
    figureFailed: (figure: string, reason: unknown) =>
      log.error("an overview figure could not be read", {
        "plant_store.figure": figure,
        "exception.message": messageOf(reason),
      }),
    /** Called for every attempt; each reason is logged once. */
    databaseUnavailable(reason: string) {
      if (reason !== unavailableReason)
        log.error("database unavailable, retrying", { "exception.message": reason });
      unavailableReason = reason;
    },
    databaseOpened: () => log.info("database opened"),
    plantsRewritten: (by: readonly string[]) =>
      log.warn(
        "the table plants has triggers or rules that may change or drop a plant before it is stored; docs/operating.md says under On PostgreSQL what clients then get",
        { "plant_store.triggers": by.join(", ") },
      ),
    connectionLimitReached(closed: ClosedAtLimit) {
      metrics.add(`closed-at-limit:${closed}`);
      if (mayLogLimitReached())
        log.warn("the connection limit is reached; a connection was closed for a new one", {
          "plant_store.closed_connection": closed,
        });
    },
    plainText: (address: string) =>
      log.warn("tokens and plants are sent in plain text beyond this machine; set --tls-cert and --tls-key", {
        "plant_store.address": address,
      }),
    certificateExpiresSoon: (expiresAtMs: number, days: number) =>
      log.warn(`the TLS certificate expires in less than ${days} days; renew it, then restart the service`, {
        "tls.server.not_after": isoTime(expiresAtMs),
      }),
    certificateExpired: (expiresAtMs: number) =>
      log.warn("the TLS certificate has expired, and clients refuse it; renew it, then restart the service", {
        "tls.server.not_after": isoTime(expiresAtMs),
      }),
    tokensChanged: (count: number) => log.debug("tokens reloaded", { "plant_store.token_count": count }),
    tokensUnreadable: (reason: unknown) =>
      log.error("tokens could not be read; keeping the known ones", {
        "exception.message": messageOf(reason),
      }),
    providerUnavailable: (reason: string) =>
      log.error("identity provider unavailable, retrying; tokens with known keys are accepted", {
        "exception.message": reason,
      }),
    providerAvailable: () => log.info("identity provider available again"),
    stopping: (reason: string) =>
      log.info("stopping: finishing requests in flight", { "plant_store.stop_reason": reason }),
    drainTimedOut: () => log.warn("drain timeout reached; open connections were closed"),
    backupCutOff: () => log.warn("a backup is cut off; a later backup removes what it leaves"),
    // A PostgreSQL may be set to acknowledge what is not on its disk yet.
    stopped: (engine: "sqlite" | "postgres") =>
      log.info(`stopped; every acknowledged plant is ${engine === "sqlite" ? "on disk" : "stored"}`),
  };
}

/** Returns whether another line may be written this second; the first call in a later second logs how many were not. */
function createLineLimit(
  now: () => number,
  linesMax: number,
  write: Log["info"],
  unloggedMessage: string,
): () => boolean {
  let second = 0;
  let lines = 0;
  return () => {
    const thisSecond = Math.floor(now() / 1000);
    if (thisSecond !== second) {
      const unlogged = lines - linesMax;
      if (unlogged > 0) write(unloggedMessage, { "plant_store.unlogged": unlogged });
      second = thisSecond;
      lines = 0;
    }
    lines++;
    return lines <= linesMax;
  };
}

function exceptionFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { "exception.message": messageOf(error) };
  return {
    "exception.type": error.name,
    "exception.message": error.message,
    "exception.stacktrace": error.stack,
  };
}
