import { setTimeout as sleep } from "node:timers/promises";
import { type FirstToken, firstTokenFile } from "./access/first-token.ts";
import { Gate } from "./access/gate.ts";
import { JwtVerifier } from "./access/oidc/jwt-verifier.ts";
import { ProviderKeys } from "./access/oidc/provider-keys.ts";
import { RateLimit } from "./access/rate-limit.ts";
import { TokenUpkeep } from "./access/token-upkeep.ts";
import type { Config } from "./config/read-config.ts";
import type { ServingListener } from "./http/health.ts";
import { warnOfPlainText } from "./http/listener.ts";
import { connectionBudget } from "./http/wire/connection-limit.ts";
import { startOperatorListener } from "./operator/operator-listener.ts";
import { Intake } from "./plants/intake.ts";
import { StoreUnavailable } from "./plants/plant-store.ts";
import { createPlant } from "./public/create-plant.ts";
import { startPublicListener } from "./public/public-listener.ts";
import { openBackups, openServiceStore, startOnceOpen } from "./storage/open-store.ts";
import { writeNew } from "./storage/sqlite/durable-files.ts";
import { DataFileReplaced } from "./storage/store.ts";
import { Counters } from "./telemetry/counters.ts";
import { createEvents } from "./telemetry/events.ts";
import type { Log } from "./telemetry/log.ts";

// Only keeps the process alive.
const stayUpMs = 60_000;

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
  /** Whether a write outcome is unknown or the data file was lost: the process must then end without closing the store. */
  readonly broken: boolean;
  /** Goes unready, finishes what is in flight within the configured time or the one given, and closes the store. */
  close(reason: string, drainTimeoutMs?: number): Promise<void>;
}

export interface ServiceOptions {
  /** Whether the first token is printed; otherwise it is written to a file. */
  readonly printsFirstToken: boolean;
}

/** Wires everything, top to bottom. The command line runs this, and so do the tests. */
export async function startService(
  config: Config,
  log: Log,
  { printsFirstToken }: ServiceOptions = { printsFirstToken: false },
): Promise<Service> {
  await using undo = new AsyncDisposableStack();
  const counters = new Counters();
  const events = createEvents(log, counters, Date.now);
  const failed = Promise.withResolvers<Error>();
  let broken = false;
  let lostDataFile = false;
  let lastReason = "";
  const store = undo.use(
    await openServiceStore(config, {
      ...events,
      onWaiting(reason) {
        if (reason !== lastReason) events.databaseUnavailable(reason);
        lastReason = reason;
      },
      onWarning: events.databaseWarning,
    }),
  );
  const { oidc, tls } = config;
  const keys =
    oidc && undo.use(new ProviderKeys(oidc.issuer, { ...events, keysChanged: () => gate.forgetJwts() }));
  const gate = new Gate(config.presetTokens, oidc && keys && new JwtVerifier(oidc, keys));
  let { opened } = store;
  // A server that becomes unavailable once it has been opened is waited for like one that was unavailable before.
  const unlessUnavailable = async <Result>(work: () => Promise<Result>): Promise<Result | undefined> => {
    try {
      return opened === undefined ? await work() : undefined;
    } catch (error) {
      if (!(store.plants.canBecomeUnreachable && error instanceof StoreUnavailable)) throw error;
      events.databaseUnavailable(error.message);
      opened = Promise.resolve();
    }
  };
  const tokens = await unlessUnavailable(() => store.tokens.all());
  if (tokens !== undefined) gate.update(tokens);

  const reportLoss = async (reason: DataFileReplaced): Promise<void> => {
    if (reason.how === "replaced") return events.dataFileReplaced(reason, reason.copyCommands);
    // Where that cannot be read either, the log says that no backup is known.
    events.dataFileOverwritten(reason, await store.lastBackup?.().catch(() => undefined));
  };
  const intake = new Intake({
    store: store.plants,
    pendingMax: config.pendingMax,
    onStored: events.stored,
    onUnavailable: events.storeUnavailable,
    onAvailable: events.storeAvailable,
    onSettleFailed: (error) => events.internalError(() => ({}), error),
    onOutcomeUnknown(reason) {
      broken = true;
      // This process alone has everything that is stored, so it stays until it is told to stop.
      lostDataFile = reason instanceof DataFileReplaced;
      if (reason instanceof DataFileReplaced) return void reportLoss(reason);
      events.outcomeUnknown(reason);
      failed.resolve(reason);
    },
  });
  store.failure?.then((reason) => intake.fail(reason));
  const rateLimit = new RateLimit(config.rateLimit);
  const connections = connectionBudget();
  const { bodyBytesMax, bodyTimeoutMs, logRequests, trustedProxies } = config;
  const shared = { bodyBytesMax, bodyTimeoutMs, logRequests, trustedProxies };
  const listener = startPublicListener(
    { gate, rateLimit, intake, events },
    {
      ...shared,
      ...config.listen,
      baseUrl: config.baseUrl,
      corsOrigins: config.corsOrigins,
      tls,
      connectionsMax: connections.publicMax,
    },
  );
  keys?.start();
  const dataFile = store.engine === "sqlite" ? config.database : undefined;
  const delivery = printsFirstToken ? "print" : firstTokenFile(config.tokenFolder, dataFile);
  const upkeep = undo.use(new TokenUpkeep({ tokens: store.tokens, gate, delivery, writeNew, events }));
  const closing = new AbortController();
  let operator: ServingListener | undefined;
  let firstToken: FirstToken | undefined;
  try {
    operator =
      config.operatorListen &&
      startOperatorListener(
        {
          ...{ gate, intake, rateLimit, events, counters, oidc },
          providerKeys: keys,
          tokenUpkeep: upkeep,
          settings: config.effective,
          backupStore: openBackups(config.database, config.backupFolder),
          createPlant: createPlant.handler({ rateLimit, intake, events }),
          publicUrl: listener.url,
          engine: store.engine,
          archive: store.archive,
          lastBackup: store.lastBackup?.bind(store),
          tokens: store.tokens,
          audit: store.audit,
        },
        {
          ...shared,
          ...config.operatorListen,
          hosts: config.operatorHosts,
          // No client certificate: probes, Prometheus and browsers use it.
          tls: tls && { ...tls, clientCa: undefined },
          connectionsMax: connections.operatorMax,
        },
      );
    // Last, when nothing else can fail: a token that is stored must also be delivered.
    firstToken = await unlessUnavailable(() => upkeep.start());
  } catch (error) {
    await Promise.all([listener.drain(0), operator?.drain(0)]);
    throw error;
  }
  const laterToken =
    opened &&
    startOnceOpen(opened, () => upkeep.start(), closing.signal).then((created) => {
      events.databaseOpened();
      return created;
    });
  // On close, the store itself ends what is in progress.
  laterToken?.catch((error) => closing.signal.aborted || failed.resolve(error));
  const bound = [listener, operator].flatMap((one) => one ?? []);
  for (const one of bound) warnOfPlainText(one, events);
  const owned = undo.move();
  return {
    publicUrl: listener.url,
    addresses: bound.map(({ address }) => address),
    operatorUrl: operator?.url,
    firstToken,
    opened: laterToken,
    failed: failed.promise,
    get broken() {
      return broken;
    },
    async close(reason, drainTimeoutMs = config.drainTimeoutMs) {
      const wasBroken = broken;
      events.stopping(reason);
      listener.goUnready();
      operator?.goUnready();
      if (!broken) await sleep(config.drainDelayMs);
      await Promise.all([listener.drain(drainTimeoutMs), operator?.drain(drainTimeoutMs)]);
      await intake.close();
      closing.abort();
      await owned.disposeAsync();
      if (!broken) return events.stopped();
      // Found out only since it was told to stop: nobody can have copied the files yet, so a second signal has to end it.
      while (lostDataFile && !wasBroken) await sleep(stayUpMs);
    },
  };
}
