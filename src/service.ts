import type { FirstToken } from "./access/first-token.ts";
import { Gate } from "./access/gate.ts";
import { JwtVerifier } from "./access/jwt-verifier.ts";
import { ProviderKeys } from "./access/provider-keys.ts";
import { RateLimit } from "./access/rate-limit.ts";
import { TokenUpkeep } from "./access/token-upkeep.ts";
import { databaseFlag } from "./config/database.ts";
import type { ServiceConfig } from "./config/read-config.ts";
import { connectionBudget } from "./http/connection-budget.ts";
import { Readiness } from "./http/health.ts";
import { refuseAddressInUse } from "./http/listen-address.ts";
import { certificateState, renewalDays } from "./http/tls-files.ts";
import { startOperatorListener } from "./operator/operator-listener.ts";
import { Intake } from "./plants/intake.ts";
import { createPlantHandler } from "./public/create-plant.ts";
import { startPublicListener } from "./public/public-listener.ts";
import { waitAtMost } from "./retry/wait-at-most.ts";
import { configuredBackups, firstTokenFile, openServiceStore } from "./storage/open-store.ts";
import { startOnceOpen } from "./storage/start-once-open.ts";
import { DataFileReplaced, type Store, WalIndexLost } from "./storage/store.ts";
import { messageOf } from "./system/errors.ts";
import { createEvents, type Events } from "./telemetry/events.ts";
import type { Log } from "./telemetry/log.ts";
import { Metrics } from "./telemetry/metrics.ts";

export interface StartOptions {
  /** Whether a first token is printed; otherwise it is written to a file. */
  readonly printsFirstToken: boolean;
}

export interface Service {
  readonly publicUrl: string;
  /** What its listeners are bound to, as `HOST:PORT`. */
  readonly addresses: readonly string[];
  /** Where the console is; undefined if it is off. */
  readonly operatorUrl: string | undefined;
  /** Created because the store had no token yet; undefined on every later start. */
  readonly firstToken: FirstToken | undefined;
  /** Set if the database was unavailable at the start: settles once it is open, with the token created then, if any. */
  readonly openedLater: Promise<FirstToken | undefined> | undefined;
  /**
   * Settles if the service cannot go on: with the failure of the store; or, after a start without the database, with what kept
   * the service from opening it or reading its tokens. A lost data file does not settle it: the service stays up, and accepts no
   * more plants.
   */
  readonly mustStop: Promise<Error>;
  /**
   * Goes unready, finishes what is in flight within the drain timeout, and closes the store, unless that has failed. The cause is
   * a signal's name, or the error of `mustStop`. A second call waits for the first.
   */
  stop(cause: string | Error): Promise<AfterStop>;
}

/**
 * What the process has to do once the service has stopped:
 * - `exit`: everything is closed. Only the end of the process stops a backup that still runs.
 * - `exit-without-closing`: the store has failed, before the stop or during it. It was not closed, and the exit must not close it
 *   either: SQLite would delete the WAL.
 * - `stay-up`, until it is killed: the data file was found to be lost only during the stop. This process alone still has what is
 *   stored, and nobody can have copied it yet.
 */
export type AfterStop = "exit" | "exit-without-closing" | "stay-up";

/** Wires everything, in the order in which it starts. The command line runs this, and so do the tests. */
export async function startService(
  config: ServiceConfig,
  log: Log,
  options: StartOptions = { printsFirstToken: false },
): Promise<Service> {
  // Whatever was started is closed again, in reverse order, if a later part fails.
  await using started = new AsyncDisposableStack();

  // What the service logs and counts.
  const metrics = new Metrics();
  const events = createEvents(log, metrics, Date.now);

  // The addresses, before the store: a start that cannot listen must not leave a data file.
  await refuseAddressInUse(config.listen, "public");
  if (config.operatorListen !== undefined) await refuseAddressInUse(config.operatorListen, "operator");

  // The store: a data file, or PostgreSQL, which may open later; and the folder for its backups, if there is one.
  const backups = configuredBackups(config);
  const store = started.use(await openServiceStore(config, events, backups));

  // The identity provider, if there is one. Nothing is fetched from it yet.
  const identityProvider = config.oidc && started.use(new ProviderKeys(config.oidc, events));

  // Who may call: those with a token of the configuration, a JWT of the identity provider, or a token of the store.
  const jwts = identityProvider && new JwtVerifier(identityProvider);
  const gate = new Gate(config.presetTokens, jwts);
  identityProvider?.onChange(() => gate.forgetJwts());

  // The tokens of the store: the gate gets them now, since otherwise it would refuse every token for a moment, and whenever they
  // change. The first one is printed, or goes to a file.
  const delivery = options.printsFirstToken ? "print" : firstTokenFile(config.database, config.tokenFolder);
  const tokenUpkeep = started.use(
    new TokenUpkeep({
      tokens: store.tokens,
      gate,
      delivery,
      databaseFlag: databaseFlag(config.database),
      events,
    }),
  );
  if (store.opening === undefined) await tokenUpkeep.reloadOrPollLater();

  // Plants on their way into the store, and whether it accepts them.
  const intake = new Intake(store.plants, config.pendingMax, events);
  const readiness = new Readiness(gate, intake);

  // Why the service must stop by itself, if it must: its store fails, or a database that opens later cannot be used (see below).
  const mustStop = Promise.withResolvers<Error>();
  handleStoreFailure(store, intake, events, mustStop.resolve);

  // What both listeners share: their limits, who is asked about a request, and the way to create a plant.
  const budget = connectionBudget();
  const listenerSettings = {
    tls: config.tls,
    bodyBytesMax: config.bodyBytesMax,
    bodyTimeoutMs: config.bodyTimeoutMs,
    logRequests: config.logRequests,
    trustedProxies: config.trustedProxies,
  };
  const listenerDependencies = { gate, intake, readiness, events };
  const rateLimit = config.rateLimit && new RateLimit(config.rateLimit);
  const createPlant = createPlantHandler(rateLimit, intake);

  // The public listener: POST /plants, its documentation, and health checks.
  const publicListener = started.use(
    startPublicListener(createPlant, listenerDependencies, {
      ...listenerSettings,
      ...config.listen,
      baseUrl: config.baseUrl,
      corsOrigins: config.corsOrigins,
      connectionsMax: budget.publicMax,
    }),
  );

  // Both listeners use the same certificate, so this is logged once.
  warnOfExpiry(publicListener.certificateExpiresAtMs, events);

  // A folder that cannot be used is logged. Nobody waits for one that does not respond.
  backups.folder?.list().catch((error) => events.backupFolderUnavailable(messageOf(error)));

  // The operator listener, unless it is off: the console, its API, and metrics. Browsers, probes and Prometheus use it, so it asks
  // for no client certificate; and no page of another origin may call it.
  const operatorListener =
    config.operatorListen &&
    started.use(
      startOperatorListener(
        {
          listenerDependencies,
          store,
          tokenUpkeep,
          backups,
          metrics,
          identityProvider,
          effectiveSettings: config.effective,
          publicListener,
          rateLimit,
          bodyBytesMax: config.bodyBytesMax,
          createPlant,
          startedAtMs: Date.now(),
        },
        {
          ...listenerSettings,
          ...config.operatorListen,
          tls: config.tls && { ...config.tls, clientCa: undefined },
          hosts: config.operatorHosts,
          connectionsMax: budget.operatorMax,
        },
      ),
    );

  // The identity provider's keys are fetched only now: a start that cannot listen must not contact it.
  identityProvider?.start();

  // The first token last, when nothing else can fail: one that is stored must also be delivered.
  const stopping = new AbortController();
  const tokenStart = await startOnceOpen(store, () => tokenUpkeep.start(), events, stopping.signal);
  tokenStart.later?.catch((error) => {
    // During a stop, the store itself ends what is in progress.
    if (!stopping.signal.aborted) mustStop.resolve(error);
  });

  // The service runs. From here on `stop` closes what was started: the listeners, then the plants on their way, and the store last.
  const parts = started.move();
  const listeners = operatorListener === undefined ? [publicListener] : [publicListener, operatorListener];
  const stop = async (cause: string | Error): Promise<AfterStop> => {
    const storeHadFailed = intake.storeFailure !== undefined;
    events.stopping(typeof cause === "string" ? cause : cause.message);

    // Load balancers get time to notice that it is unready. A store that has failed, or fails meanwhile, ends the wait: it
    // accepts no more plants.
    readiness.goUnready();
    await waitAtMost(config.drainDelayMs, intake.storeFailed);

    // The requests in flight, and then the plants that they sent.
    const finished = await Promise.all(listeners.map((listener) => listener.drain(config.drainTimeoutMs)));
    if (finished.includes(false)) events.drainTimedOut();
    await intake.close();

    // Everything, the store last. The listeners' disposal closes the connections that the drain left.
    stopping.abort();
    await parts.disposeAsync();

    const failure = intake.storeFailure;
    if (failure !== undefined)
      return failure instanceof DataFileReplaced && !storeHadFailed ? "stay-up" : "exit-without-closing";
    if (backups.folder?.isBusy === true) events.backupCutOff();
    events.stopped(store.engine);
    return "exit";
  };
  let stopped: Promise<AfterStop> | undefined;
  return {
    publicUrl: publicListener.url,
    addresses: listeners.map(({ address }) => address),
    operatorUrl: operatorListener?.url,
    firstToken: tokenStart.result,
    openedLater: tokenStart.later,
    mustStop: mustStop.promise,
    stop(cause) {
      stopped ??= stop(cause);
      return stopped;
    },
  };
}

/**
 * A failed fsync arrives twice: a write throws it into the intake, and the store reports it. Whichever is first stops the intake,
 * and the other finds it stopped. Then the failure is logged, and the service stops, unless only this process still has what is
 * stored.
 */
function handleStoreFailure(
  store: Store,
  intake: Intake,
  events: Events,
  stopBecause: (failure: Error) => void,
): void {
  void store.failure?.then((failure) => intake.handleStoreError(failure));
  void intake.storeFailed.then((failure) => {
    if (failure instanceof DataFileReplaced) {
      // The files that this process has open are the only copy, so it stays up until it is told to stop.
      events.dataFileLost(failure);
      return;
    }
    if (failure instanceof WalIndexLost) events.walIndexLost(failure);
    else events.outcomeUnknown(failure);
    stopBecause(failure);
  });
}

function warnOfExpiry(certificateExpiresAtMs: number | undefined, events: Events): void {
  if (certificateExpiresAtMs === undefined) return;
  const state = certificateState(certificateExpiresAtMs, Date.now());
  if (state === "expires-soon") events.certificateExpiresSoon(certificateExpiresAtMs, renewalDays);
  if (state === "expired") events.certificateExpired(certificateExpiresAtMs);
}
