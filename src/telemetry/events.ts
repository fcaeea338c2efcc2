import type { Counters } from "./counters.ts";
import type { Log } from "./log.ts";

/** An answered request, for the log. */
export interface Answered {
  readonly requestId: string;
  /** The client's. */
  readonly address: string;
  /** The name of its token, where it is known. */
  readonly token: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly error?: number;
  readonly tookMs?: number;
}

/** Everything the service logs and counts, one helper per event. None of them throws. */
export type Events = ReturnType<typeof createEvents>;

// A flood of refusals, or of failures under overload, must not become a flood of lines.
const linesPerSecond = 20;
const limitReachedLinesPerSecond = 1;
const guessingLinesPerSecond = 5;

export function createEvents(log: Log, counters: Counters, now: () => number) {
  const mayLogRefusal = lineLimit(now, linesPerSecond, (unlogged) =>
    log.warn("more requests were refused than are logged", { unlogged }),
  );
  const mayLogFailure = lineLimit(now, linesPerSecond, (unlogged) =>
    log.error("more requests failed than are logged", { unlogged }),
  );
  const mayLogLimitReached = lineLimit(now, limitReachedLinesPerSecond, (unlogged) =>
    log.warn("more connections were closed at the limit than are logged", { unlogged }),
  );
  const mayLogGuessing = lineLimit(now, guessingLinesPerSecond, (unlogged) =>
    log.warn("more addresses with failed credentials than are logged", { unlogged }),
  );

  return {
    stored(created: number, replayed: number) {
      counters.add("batches");
      counters.add("created", created);
      counters.add("replayed", replayed);
    },
    /** Called for every error response, logged or not. */
    errorSent: (listener: string, error: number) => counters.add(`${listener}:${error}`),
    answered: (answered: Answered) => log.info("answered", { ...answered }),
    failed(answered: Answered) {
      if (mayLogFailure()) log.error("failed", { ...answered });
    },
    refused(answered: Answered) {
      if (mayLogRefusal()) log.info("refused", { ...answered });
    },
    internalError(requestId: string | undefined, error: unknown) {
      if (!mayLogFailure()) return;
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      log.error("internal error", { requestId, reason });
    },
    storeUnavailable: (reason: Error) => log.error("store unavailable, retrying", { reason: reason.message }),
    storeAvailable: () => log.info("store available again"),
    outcomeUnknown: (reason: Error) =>
      log.error("write outcome unknown; stopping, so that a restart finds out what is stored", {
        reason: reason.message,
      }),
    dataFileShared: () =>
      log.warn("another process has the data file open; the WAL stays until it is done, and is durable"),
    rebuilding: (bytes: number) =>
      log.warn("rebuilding the data file after a failed fsync; this copies all of it", { bytes }),
    walGrown: (bytes: number) =>
      log.warn("the WAL has grown because another process keeps a read transaction open; end it", { bytes }),
    markerNotWritten: (reason: string) =>
      log.error(
        "the failure marker could not be written beside the data file; reboot before the next start",
        { reason },
      ),
    dataFileSaved: (path: string) =>
      log.error("everything stored was saved under a new name; restore it from there", { path }),
    dataFileNotSaved: (reason: unknown) =>
      log.error(
        "everything stored is in this process alone and could not be saved; retrying, keep it running",
        {
          reason: String(reason),
        },
      ),
    clockBeforeLastPlant: (lastMs: number, nowMs: number) =>
      log.warn("the clock is before the time of the last plant; new plants get the clock's time", {
        clock: isoTime(nowMs),
        lastPlant: isoTime(lastMs),
      }),
    presetIsStored: (preset: string, stored: string) =>
      log.warn("a preset token has the secret of a stored token; only the preset's scope applies", {
        preset,
        stored,
      }),
    presetsChanged: (names: string) => log.info("preset tokens reloaded from their files", { names }),
    presetsUnreadable: (reason: string) =>
      log.error("preset tokens could not be reloaded; keeping the known ones", { reason }),
    usesNotWritten: (reason: unknown) =>
      log.debug("the last uses of tokens could not be written; retrying in a minute", {
        reason: String(reason),
      }),
    figureFailed: (figure: string, reason: unknown) =>
      log.error("an overview figure could not be read", { figure, reason: String(reason) }),
    databaseUnavailable: (reason: string) => log.error("database unavailable, retrying", { reason }),
    databaseOpened: () => log.info("database opened"),
    databaseWarning: (warning: string) => log.warn(warning),
    connectionLimitReached(closed: "longest-idle" | "newest") {
      counters.add("idle-closed");
      if (!mayLogLimitReached()) return;
      if (closed === "longest-idle")
        log.warn("the connection limit is reached; the longest idle connection was closed");
      else log.warn("the connection limit is reached and none is idle; the new connection was closed");
    },
    manyFailedCredentials(address: string, failures: number) {
      if (mayLogGuessing()) log.warn("many failed credentials from one address", { address, failures });
    },
    certificateReloaded: (listener: string) =>
      log.info("certificate reloaded; new connections get it", { listener }),
    certificateUnusable: (listener: string, reason: string) =>
      log.error("the changed certificate cannot be used; keeping the former one", { listener, reason }),
    plainText: (address: string) =>
      log.warn("tokens and plants are sent in plain text beyond this machine; set --tls-cert and --tls-key", {
        address,
      }),
    tokensChanged: (count: number) => log.debug("tokens reloaded", { count }),
    tokensUnreadable: (reason: unknown) =>
      log.error("tokens could not be read; keeping the known ones", { reason: String(reason) }),
    providerUnavailable: (reason: string) =>
      log.error("identity provider unavailable, retrying; tokens with known keys are accepted", { reason }),
    providerAvailable: () => log.info("identity provider available again"),
    workerLost: (reason: string) =>
      log.error("a worker died and is being replaced; requests it had not answered are safe to retry", {
        reason,
      }),
    stopping: (signal: string) => log.info("stopping: finishing requests in flight", { signal }),
    drainTimedOut: () => log.warn("drain timeout reached; open connections were closed"),
    stopped: () => log.info("stopped; every acknowledged plant is on disk"),
  };
}

// A data file may hold any number, and telemetry never throws.
function isoTime(atMs: number): string {
  const time = new Date(atMs);
  return Number.isNaN(time.getTime()) ? String(atMs) : time.toISOString();
}

function lineLimit(
  now: () => number,
  linesMax: number,
  logUnlogged: (unlogged: number) => void,
): () => boolean {
  let second = 0;
  let lines = 0;
  return () => {
    const thisSecond = Math.floor(now() / 1000);
    if (thisSecond !== second) {
      if (lines > linesMax) logUnlogged(lines - linesMax);
      second = thisSecond;
      lines = 0;
    }
    return ++lines <= linesMax;
  };
}
