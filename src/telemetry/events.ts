import { messageOf } from "../system/errors.ts";
import { isoTime } from "../text/time.ts";
import type { Level, Log, LogFields } from "./log.ts";
import {
  type ClosedAtLimit,
  type Histogram,
  type ListenerName,
  type Metrics,
  type RequestOutcome,
  refusalsOf,
  requestOutcomes,
} from "./metrics.ts";
import { RecentRefusals } from "./recent-refusals.ts";
import { RefusedSenders, type SentError } from "./refused-senders.ts";
import { Senders } from "./senders.ts";

/** Everything the running service logs and counts. None throws. How it started, `serve` logs itself. */
export type Events = ReturnType<typeof createEvents>;

const because = (reason: unknown): LogFields => ({ "exception.message": messageOf(reason) });
const expiry = (atMs: number): LogFields => ({ "tls.server.not_after": isoTime(atMs) });

/** What is only logged. */
const loggedEvents = {
  // Requests, tokens and the overview
  answered: row("info", "answered", (fields: LogFields) => fields),
  tokensChanged: row("debug", "tokens reloaded", (count: number) => ({ "plant_store.token_count": count })),
  tokensUnreadable: row("error", "tokens could not be read; keeping the known ones", because),
  usesNotWritten: row("debug", "the last uses of tokens could not be written", because),
  presetIsStored: row(
    "warn",
    "a preset token has the secret of a stored token; only the preset's scope applies",
    (preset: string, stored: string) => ({ "plant_store.preset_token": preset, "plant_store.token": stored }),
  ),
  providerUnavailable: row(
    "error",
    "identity provider unavailable, retrying; tokens with known keys are accepted",
    because,
  ),
  providerAvailable: row("info", "identity provider available again"),
  figureFailed: row("error", "an overview figure could not be read", (figure: string, reason: unknown) => ({
    "plant_store.figure": figure,
    ...because(reason),
  })),

  // The store
  storeUnavailable: row("error", "store unavailable, retrying", because),
  storeAvailable: row("info", "store available again"),
  outcomeUnknown: row(
    "error",
    "write outcome unknown; stopping so that a restart can check what was stored",
    because,
  ),
  diskStalled: row("warn", "the disk is stalling; creates wait until it recovers"),
  diskRecovered: row("warn", "the disk stalled; creates waited until it recovered", (tookMs: number) => ({
    "plant_store.seconds": Math.round(tookMs / 100) / 10,
  })),
  dataFileShared: row(
    "warn",
    "another process has the data file open; the WAL is durable, and stays until that process closes the file",
  ),
  dataFileLost: row(
    "error",
    "the data file was lost; unless it was overwritten, copy it from this process before you stop it, as docs/operating.md says under Crashes",
    because,
  ),
  walIndexLost: row(
    "error",
    "stopping without a checkpoint, since another process may write to the WAL; start it again",
    because,
  ),
  walMovedAway: row(
    "warn",
    "the WAL of the old data file was moved away, since the file was replaced",
    (folder: string) => ({ "plant_store.folder": folder }),
  ),
  markerNotWritten: row(
    "error",
    "the failure marker could not be written; before the next start, restore a lost data file, otherwise reboot",
    because,
  ),
  rebuilding: row(
    "warn",
    "rebuilding the data file after a failed fsync; this copies all of it",
    (bytes: number) => ({ "file.size": bytes }),
  ),
  plantsMissing: row(
    "warn",
    "the data file has fewer plants than its last backup; is it an older copy?",
    (plants: number, inBackup: number) => ({
      "plant_store.plants": plants,
      "plant_store.backup_plants": inBackup,
    }),
  ),
  plantsRewritten: row(
    "warn",
    "the table plants has triggers or rules that may change or drop a plant before it is stored; docs/operating.md says under On PostgreSQL what clients then get",
    (by: readonly string[]) => ({ "plant_store.triggers": by.join(", ") }),
  ),
  databaseUnavailable: row("error", "database unavailable, retrying", because),
  databaseOpened: row("info", "database opened"),

  // Backups; the problem is a sentence for the operator.
  backupFailed: row("warn", "a backup could not be made", (fields: LogFields, problem: string) => ({
    ...fields,
    ...because(problem),
  })),
  backupFolderUnavailable: row("warn", "there can be no backups in the backup folder", because),
  backupCutOff: row("warn", "a backup is cut off; one made a day later removes what it leaves"),

  // Listening and stopping
  plainText: row(
    "warn",
    "tokens and plants are sent in plain text beyond this machine; set --tls-cert and --tls-key",
    (address: string) => ({ "plant_store.address": address }),
  ),
  certificateExpiresSoon: row(
    "warn",
    (_: number, days: number) =>
      `the TLS certificate expires in less than ${days} days; renew it, then restart the service`,
    expiry,
  ),
  certificateExpired: row(
    "warn",
    "the TLS certificate has expired, and clients refuse it; renew it, then restart the service",
    expiry,
  ),
  stopping: row("info", "stopping: finishing requests in flight", (reason: string) => ({
    "plant_store.stop_reason": reason,
  })),
  drainTimedOut: row("warn", "drain timeout reached; open connections were closed"),
  // A PostgreSQL may be set to acknowledge what is not on its disk yet.
  stopped: row(
    "info",
    (engine: "sqlite" | "postgres") =>
      `stopped; every acknowledged plant is ${engine === "sqlite" ? "on disk" : "stored"}`,
  ),
};

// A flood of refusals, or of failures under overload, must not become a flood of lines.
const linesPerSecondMax = 20;
const limitReachedLinesPerSecondMax = 1;

export function createEvents(log: Log, metrics: Metrics, now: () => number) {
  // What every plant is counted by.
  const created = metrics.series("plant_store_plants_created_total");
  const replayed = metrics.series("plant_store_plants_replayed_total");
  const batches = metrics.series("plant_store_batches_total");
  const batchPlants = metrics.series("plant_store_batch_plants");
  const commits = metrics.series("plant_store_commit_duration_seconds");
  const durations = Object.fromEntries(
    requestOutcomes.map((outcome) => [
      outcome,
      metrics.series("plant_store_request_duration_seconds", `outcome="${outcome}"`),
    ]),
  ) as Record<RequestOutcome, Histogram>;

  const closedAtLimit = {
    idle: metrics.series("plant_store_idle_connections_closed_total"),
    stranger: metrics.series("plant_store_connections_closed_at_limit_total", 'reason="stranger"'),
    slow: metrics.series("plant_store_connections_closed_at_limit_total", 'reason="slow"'),
  };

  // What the console shows of the error responses.
  const refusals = new RecentRefusals();
  const refusedSenders = new RefusedSenders();
  const senders = new Senders();

  // Each limit reports what was not logged at the level of the lines that it limits.
  const logRefusal = limitLines(
    log.info,
    now,
    linesPerSecondMax,
    "more requests were refused than are logged",
  );
  // Only a warning: under load these lines would bury the errors, which say why.
  const logFailure = limitLines(log.warn, now, linesPerSecondMax, "more requests failed than are logged");
  const logInternalError = limitLines(
    log.error,
    now,
    linesPerSecondMax,
    "there were more internal errors than are logged",
  );
  const logLimitReached = limitLines(
    log.warn,
    now,
    limitReachedLinesPerSecondMax,
    "more connections were closed at the limit than are logged",
  );

  const internalError = (fields: () => LogFields, error: unknown): void =>
    logInternalError("internal error", () => ({ ...fields(), ...exceptionFields(error) }));

  return {
    ...logWith(log, loggedEvents),
    stored(batch: StoredCounts) {
      batches.value++;
      created.value += batch.created;
      replayed.value += batch.replayed;
      batchPlants.observe(batch.plants);
      commits.observe(batch.tookMs / 1000);
      senders.stored(batch.senders, now());
    },
    requestTimed: (outcome: RequestOutcome, tookMs: number) => durations[outcome].observe(tookMs / 1000),
    synced: (file: "wal" | "data", tookMs: number) =>
      metrics.series("plant_store_fsync_duration_seconds", `file="${file}"`).observe(tookMs / 1000),
    checkpointed(hasSucceeded: boolean) {
      metrics.series(hasSucceeded ? "plant_store_checkpoints_total" : "plant_store_checkpoint_failures_total")
        .value++;
    },
    connections(listener: ListenerName, open: number) {
      metrics.series("plant_store_connections", `listener="${listener}"`).value = open;
    },
    connectionLimitReached(closed: ClosedAtLimit) {
      closedAtLimit[closed].value++;
      logLimitReached("the connection limit is reached; a connection was closed for a new one", () => ({
        "plant_store.closed_connection": closed,
      }));
    },
    /** Called for every error response, logged or not. */
    errorSent(sent: SentError) {
      const atMs = now();
      refusalsOf(metrics, sent.listener, sent.error).value++;
      if (sent.listener === "public") refusals.add(atMs);
      refusedSenders.record(sent, atMs);
      if (sent.token !== undefined) senders.refused(sent.token, atMs);
    },
    /** The error responses of the public listener over time. */
    refusals,
    /** Who got error responses last, on either listener. */
    refusedSenders,
    /** Who sent plants, and who was refused, on this node. */
    senders,
    /** The fields are computed only if the line is written. */
    failed: (fields: () => LogFields) => logFailure("failed", fields),
    refused: (fields: () => LogFields) => logRefusal("refused", fields),
    /** The fields identify the request, if there is one. */
    internalError,
    /** The response to a stored plant could not be made. */
    settleFailed: (error: unknown) => internalError(() => ({}), error),
  };
}

/** A batch of plants that was stored, who sent them, and how long it took. */
interface StoredCounts {
  readonly created: number;
  readonly replayed: number;
  readonly plants: number;
  readonly senders: Iterable<string>;
  readonly tookMs: number;
}

/** An event that is only logged; what its parameters make of it. */
interface Row<Args extends readonly unknown[]> {
  readonly level: Level;
  readonly message: string | ((...args: Args) => string);
  readonly fields: ((...args: Args) => LogFields) | undefined;
}

function row<Args extends readonly unknown[] = []>(
  level: Level,
  message: Row<Args>["message"],
  fields?: (...args: Args) => LogFields,
): Row<Args> {
  return { level, message, fields };
}

type Logged<Rows> = {
  [Name in keyof Rows]: Rows[Name] extends Row<infer Args> ? (...args: Args) => void : never;
};

/** A function for each row, which writes its line. */
function logWith<Rows extends Readonly<Record<string, Row<never>>>>(log: Log, rows: Rows): Logged<Rows> {
  const functions = Object.entries(rows).map(([name, { level, message, fields }]) => [
    name,
    (...args: never) =>
      log[level](typeof message === "string" ? message : message(...args), fields?.(...args)),
  ]);
  return Object.fromEntries(functions);
}

/** Writes at most so many lines per second; the first line of a later second comes after the number of those that were not. */
function limitLines(write: Log["info"], now: () => number, linesMax: number, unloggedMessage: string) {
  let second = 0;
  let lines = 0;
  return (message: string, fields: () => LogFields): void => {
    const thisSecond = Math.floor(now() / 1000);
    if (thisSecond !== second) {
      const unlogged = lines - linesMax;
      if (unlogged > 0) write(unloggedMessage, { "plant_store.unlogged": unlogged });
      second = thisSecond;
      lines = 0;
    }
    lines++;
    if (lines <= linesMax) write(message, fields());
  };
}

function exceptionFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return because(error);
  return {
    "exception.type": error.name,
    "exception.message": error.message,
    "exception.stacktrace": error.stack,
  };
}
