import { setTimeout as sleep } from "node:timers/promises";
import { type FirstToken, type FirstTokenDelivery, firstTokenPath } from "./access/first-token.ts";
import { Gate } from "./access/gate.ts";
import { JwtVerifier } from "./access/jwt-verifier.ts";
import { ProviderKeys } from "./access/provider-keys.ts";
import { RateLimit } from "./access/rate-limit.ts";
import { TokenUpkeep } from "./access/token-upkeep.ts";
import type { Config } from "./config/read-config.ts";
import { connectionBudget } from "./http/connection-budget.ts";
import { Readiness } from "./http/health.ts";
import { refuseAddressInUse } from "./http/listen-address.ts";
import type { Listener, ListenerSettings } from "./http/listener.ts";
import { certificateState, renewalDays } from "./http/tls-files.ts";
import { startOperatorListener } from "./operator/operator-listener.ts";
import { Intake } from "./plants/intake.ts";
import { CreatePlant } from "./public/create-plant.ts";
import { startPublicListener } from "./public/public-listener.ts";
import { isUnreachable, openBackups, openServiceStore, startOnceOpen } from "./storage/open-store.ts";
import { writeNew } from "./storage/sqlite/durable-files.ts";
import { DataFileReplaced, type Store, WalIndexLost } from "./storage/store.ts";
import { Counters } from "./telemetry/counters.ts";
import { createEvents, type Events } from "./telemetry/events.ts";
import type { Log } from "./telemetry/log.ts";

// A timer keeps the process alive, whatever its interval.
const stayUpEveryMs = 60_000;

export interface Service {
  readonly publicUrl: string;
  /** What its listeners are bound to, as `HOST:PORT`. */
  readonly addresses: readonly string[];
  /** Where the console is; undefined if it is off. */
  readonly operatorUrl: string | undefined;
  /** Created because the store had no token yet; undefined on every later start. */
  readonly firstToken: FirstToken | undefined;
  /** If the database was unavailable at the start: settles once it is open, with the token created then, if any. */
  readonly opened: Promise<FirstToken | undefined> | undefined;
  /** Settles if the service must stop by itself: a write outcome is unknown, or the database must not be used. */
  readonly failed: Promise<Error>;
  /**
   * Why the process must end without closing the store: a write outcome is unknown, or the data file was lost. Undefined while
   * neither has happened.
   */
  readonly storeFailure: Error | undefined;
  /** Goes unready, finishes what is in flight within the configured time or the one given, and closes the store. */
  close(reason: string, drainTimeoutMs?: number): Promise<void>;
}

/** Wires everything, in the order in which it starts. The command line runs this, and so do the tests. */
export async function startService(config: Config, log: Log, printsFirstToken = false): Promise<Service> {
  // Whatever was started is closed again, in reverse order, if a later part fails.
  await using started = new AsyncDisposableStack();
  const failed = Promise.withResolvers<Error>();
  const closing = new AbortController();

  // What the service logs and counts.
  const counters = new Counters();
  const events = createEvents(log, counters, Date.now);

  // The addresses, before the store: a start that cannot listen must not leave a data file.
  await refuseAddressInUse(config.listen, "public");
  if (config.operatorListen !== undefined) await refuseAddressInUse(config.operatorListen, "operator");

  // The store: a data file, or PostgreSQL, which may open later.
  const store = started.use(await openServiceStore(config, events));

  // Who may call: the store's tokens, those of the configuration, and the JWTs of an identity provider.
  const { oidc } = config;
  const keys = oidc && started.use(new ProviderKeys(oidc.issuer, events));
  const jwts = oidc && keys && new JwtVerifier(oidc, keys);
  const gate = new Gate(config.presetTokens, jwts);
  keys?.onChange(() => gate.forgetJwts());
  const tokenUpkeep = started.use(
    new TokenUpkeep({
      tokens: store.tokens,
      gate,
      delivery: firstTokenDelivery(config, store, printsFirstToken),
      events,
    }),
  );
  await loadTokens(tokenUpkeep, store);

  // Plants on their way into the store, and whether it accepts them.
  const intake = new Intake(store.plants, config.pendingMax, events);
  const readiness = new Readiness(intake);
  void store.failure?.then((reason) => intake.handleStoreError(reason));
  void intake.storeFailed.then((reason) => {
    reportStoreFailure(reason, events);
    // If the data file was lost, this process alone still has what is stored, so it stays until it is told to stop.
    if (!(reason instanceof DataFileReplaced)) failed.resolve(reason);
  });

  // The public listener: POST /plants, its documentation, and health checks.
  const rateLimit = config.rateLimit && new RateLimit(config.rateLimit);
  const createPlant = new CreatePlant(rateLimit, intake);
  const shared = { gate, intake, readiness, events };
  const budget = connectionBudget();
  const publicListener = startPublicListener(createPlant, shared, publicSettings(config, budget.publicMax));
  started.defer(() => publicListener.drain(0));
  // Both listeners have the same certificate: this is said once.
  const { certificateExpiresAtMs } = publicListener;
  if (certificateExpiresAtMs !== undefined) warnOfExpiry(certificateExpiresAtMs, events);
  keys?.start();

  // The operator listener: the console, its API, and metrics.
  const operatorListener =
    config.operatorListen &&
    startOperatorListener(
      {
        ...shared,
        rateLimit,
        archive: store.archive,
        tokens: store.tokens,
        tokenUpkeep,
        audit: store.audit,
        counters,
        engine: store.engine,
        lastBackup: store.lastBackup?.bind(store),
        backupStore: openBackups(config.database, config.backupFolder),
        oidc,
        providerKeys: keys,
        settings: config.effective,
        publicUrl: publicListener.url,
        certificateExpiresAtMs,
        createPlant: (exchange, caller) => createPlant.handle(exchange, caller),
      },
      operatorSettings(config, config.operatorListen, budget.operatorMax),
    );
  if (operatorListener !== undefined) started.defer(() => operatorListener.drain(0));

  // Last, when nothing else can fail: a token that is stored must also be delivered.
  const firstToken = await startOnceOpen(store, () => tokenUpkeep.start(), events, closing.signal);
  firstToken.later?.catch((error) => {
    // On close, the store itself ends what is in progress.
    if (!closing.signal.aborted) failed.resolve(error);
  });

  // How it stops: the listeners first, then the plants on their way, then all that was started, the store last.
  const listeners = operatorListener === undefined ? [publicListener] : [publicListener, operatorListener];
  const running = started.move();
  const close = async (reason: string, drainTimeoutMs = config.drainTimeoutMs): Promise<void> => {
    const failedBefore = intake.storeFailure !== undefined;
    events.stopping(reason);
    readiness.goUnready();
    await drain(listeners, intake, {
      delayMs: failedBefore ? 0 : config.drainDelayMs,
      timeoutMs: drainTimeoutMs,
    });
    closing.abort();
    await running.disposeAsync();
    const failure = intake.storeFailure;
    if (failure === undefined) events.stopped();
    // If the data file was found to be lost only now, nobody can have copied it from this process yet.
    if (failure instanceof DataFileReplaced && !failedBefore) await untilSecondSignal();
  };

  return {
    publicUrl: publicListener.url,
    addresses: listeners.map(({ address }) => address),
    operatorUrl: operatorListener?.url,
    firstToken: firstToken.result,
    opened: firstToken.later,
    failed: failed.promise,
    get storeFailure() {
      return intake.storeFailure;
    },
    close,
  };
}

/** Where the public listener is reached, and its limits. */
function publicSettings(config: Config, connectionsMax: number): ListenerSettings {
  return {
    host: config.listen.host,
    port: config.listen.port,
    baseUrl: config.baseUrl,
    tls: config.tls,
    connectionsMax,
    bodyBytesMax: config.bodyBytesMax,
    bodyTimeoutMs: config.bodyTimeoutMs,
    logRequests: config.logRequests,
    trustedProxies: config.trustedProxies,
    corsOrigins: config.corsOrigins,
    hosts: undefined,
  };
}

/**
 * Where the operator listener is reached, and its limits. Browsers, probes and Prometheus use it, so it asks for no client
 * certificate; and no page of another origin may call it.
 */
function operatorSettings(
  config: Config,
  address: NonNullable<Config["operatorListen"]>,
  connectionsMax: number,
): ListenerSettings {
  return {
    host: address.host,
    port: address.port,
    baseUrl: undefined,
    tls: config.tls && { ...config.tls, clientCa: undefined },
    connectionsMax,
    bodyBytesMax: config.bodyBytesMax,
    bodyTimeoutMs: config.bodyTimeoutMs,
    logRequests: config.logRequests,
    trustedProxies: config.trustedProxies,
    corsOrigins: [],
    hosts: config.operatorHosts,
  };
}

function firstTokenDelivery(config: Config, store: Store, printsFirstToken: boolean): FirstTokenDelivery {
  if (printsFirstToken) return "print";
  const dataFile = store.engine === "sqlite" ? config.database : undefined;
  const path = firstTokenPath(config.tokenFolder, dataFile);
  return path === undefined ? undefined : { path, writeNew };
}

/**
 * Reads the tokens before the service listens: otherwise it would refuse every token for a moment. A database that is away is
 * waited for later.
 */
async function loadTokens(tokenUpkeep: TokenUpkeep, store: Store): Promise<void> {
  if (store.opening !== undefined) return;
  try {
    await tokenUpkeep.reload();
  } catch (error) {
    if (!isUnreachable(store, error)) throw error;
  }
}

function reportStoreFailure(reason: Error, events: Events): void {
  if (reason instanceof DataFileReplaced) events.dataFileLost(reason);
  else if (reason instanceof WalIndexLost) events.walIndexLost(reason);
  else events.outcomeUnknown(reason);
}

function warnOfExpiry(certificateExpiresAtMs: number, events: Events): void {
  const state = certificateState(certificateExpiresAtMs, Date.now());
  if (state === "expires-soon") events.certificateExpiresSoon(certificateExpiresAtMs, renewalDays);
  if (state === "expired") events.certificateExpired(certificateExpiresAtMs);
}

/** Lets load balancers notice that it is unready, finishes the requests in flight, and then the plants that they sent. */
async function drain(
  listeners: readonly Listener[],
  intake: Intake,
  { delayMs, timeoutMs }: { readonly delayMs: number; readonly timeoutMs: number },
): Promise<void> {
  await sleep(delayMs);
  await Promise.all(listeners.map((listener) => listener.drain(timeoutMs)));
  await intake.close();
}

/** Never settles, and keeps the process alive: only the operator, who has copied the files by then, may end it. */
function untilSecondSignal(): Promise<never> {
  return new Promise(() => setInterval(() => {}, stayUpEveryMs));
}
