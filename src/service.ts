import { setTimeout as sleep } from "node:timers/promises";
import { Gate } from "./access/gate.ts";
import { JwtVerifier } from "./access/jwt-verifier.ts";
import { ProviderKeys } from "./access/provider-keys.ts";
import { RateLimit } from "./access/rate-limit.ts";
import { type FirstToken, firstTokenFile, TokenUpkeep } from "./access/token-upkeep.ts";
import type { Config } from "./config/read-config.ts";
import { Readiness } from "./http/health.ts";
import type { ListenerSettings } from "./http/listener.ts";
import { certificateState, renewalDays } from "./http/tls-files.ts";
import { connectionBudget } from "./http/wire/wire-server.ts";
import { startOperatorListener } from "./operator/operator-listener.ts";
import { Intake } from "./plants/intake.ts";
import { CreatePlant } from "./public/create-plant.ts";
import { startPublicListener } from "./public/public-listener.ts";
import { isUnreachable, openBackups, openServiceStore, startOnceOpen } from "./storage/open-store.ts";
import { writeNew } from "./storage/sqlite/durable-files.ts";
import { DataFileReplaced, WalIndexLost } from "./storage/store.ts";
import { Counters } from "./telemetry/counters.ts";
import { createEvents, type Events } from "./telemetry/events.ts";
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

/** Wires everything, top to bottom. The command line runs this, and so do the tests. */
export async function startService(config: Config, log: Log, printsFirstToken = false): Promise<Service> {
  await using undo = new AsyncDisposableStack();
  const counters = new Counters();
  const events = createEvents(log, counters, Date.now);
  const store = undo.use(await openServiceStore(config, events));
  const { oidc, tls } = config;
  const keys =
    oidc && undo.use(new ProviderKeys(oidc.issuer, { ...events, keysChanged: () => gate.forgetJwts() }));
  const gate = new Gate(config.presetTokens, oidc && keys && new JwtVerifier(oidc, keys));
  const dataFile = store.engine === "sqlite" ? config.database : undefined;
  const delivery = printsFirstToken ? "print" : firstTokenFile(config.tokenFolder, dataFile);
  const upkeep = undo.use(new TokenUpkeep({ tokens: store.tokens, gate, delivery, writeNew, events }));
  // Before it listens, unless the database is unreachable: otherwise it would refuse every token for a moment.
  if (store.opened === undefined)
    await upkeep.reload().catch((error) => {
      if (!isUnreachable(store, error)) throw error;
    });

  const failed = Promise.withResolvers<Error>();
  let lostDataFile = false;
  const intake = new Intake(store.plants, config.pendingMax, events);
  store.failure?.then((reason) => intake.fail(reason));
  void intake.failure.then((reason) => {
    // This process alone has everything that is stored, so it stays until it is told to stop.
    lostDataFile = reason instanceof DataFileReplaced;
    if (reason instanceof DataFileReplaced) return events.dataFileLost(reason);
    if (reason instanceof WalIndexLost) events.walIndexLost(reason);
    else events.outcomeUnknown(reason);
    failed.resolve(reason);
  });

  const readiness = new Readiness(intake);
  const rateLimit = config.rateLimit && new RateLimit(config.rateLimit);
  const createPlant = new CreatePlant(rateLimit, intake);
  const parts = { gate, intake, readiness, events };
  const { baseUrl, bodyBytesMax, bodyTimeoutMs, corsOrigins, logRequests, trustedProxies } = config;
  const limits = { bodyBytesMax, bodyTimeoutMs, logRequests, trustedProxies };
  const { publicMax, operatorMax } = connectionBudget();
  const settings: ListenerSettings = {
    ...{ ...config.listen, baseUrl, tls, corsOrigins, ...limits },
    hosts: undefined,
    connectionsMax: publicMax,
  };
  await using listening = new AsyncDisposableStack();
  const listener = startPublicListener(createPlant, parts, settings);
  listening.defer(() => listener.drain(0));
  // Both listeners have the same certificate: this is said once.
  const { certificateExpiresAtMs } = listener;
  if (certificateExpiresAtMs !== undefined) warnOfExpiry(certificateExpiresAtMs, events);
  keys?.start();
  const operator =
    config.operatorListen &&
    startOperatorListener(
      {
        ...{ ...parts, rateLimit, counters, oidc, engine: store.engine, settings: config.effective },
        ...{ archive: store.archive, tokens: store.tokens, audit: store.audit },
        providerKeys: keys,
        tokenUpkeep: upkeep,
        backupStore: openBackups(config.database, config.backupFolder),
        lastBackup: store.lastBackup?.bind(store),
        publicUrl: listener.url,
        certificateExpiresAtMs,
        createPlant: (exchange, caller) => createPlant.handle(exchange, caller),
      },
      {
        ...{ ...settings, ...config.operatorListen, baseUrl: undefined, corsOrigins: [] },
        hosts: config.operatorHosts,
        // No client certificate: probes, Prometheus and browsers use it.
        tls: tls && { ...tls, clientCa: undefined },
        connectionsMax: operatorMax,
      },
    );
  if (operator !== undefined) listening.defer(() => operator.drain(0));

  // Last, when nothing else can fail: a token that is stored must also be delivered.
  const closing = new AbortController();
  const { result: firstToken, later: opened } = await startOnceOpen(
    store,
    () => upkeep.start(),
    events,
    closing.signal,
  );
  // On close, the store itself ends what is in progress.
  opened?.catch((error) => closing.signal.aborted || failed.resolve(error));
  const listeners = [listener, operator].flatMap((one) => one ?? []);
  listening.move();
  const owned = undo.move();
  return {
    publicUrl: listener.url,
    addresses: listeners.map(({ address }) => address),
    operatorUrl: operator?.url,
    firstToken,
    opened,
    failed: failed.promise,
    get broken() {
      return intake.failed;
    },
    async close(reason, drainTimeoutMs = config.drainTimeoutMs) {
      const wasBroken = intake.failed;
      events.stopping(reason);
      readiness.goUnready();
      if (!intake.failed) await sleep(config.drainDelayMs);
      await Promise.all(listeners.map((one) => one.drain(drainTimeoutMs)));
      await intake.close();
      closing.abort();
      await owned.disposeAsync();
      if (!intake.failed) return events.stopped();
      // Found out only since it was told to stop: nobody can have copied the files yet, so a second signal has to end it.
      while (lostDataFile && !wasBroken) await sleep(stayUpMs);
    },
  };
}

function warnOfExpiry(certificateExpiresAtMs: number, events: Events): void {
  const state = certificateState(certificateExpiresAtMs, Date.now());
  if (state === "expires-soon") events.certificateExpiresSoon(certificateExpiresAtMs, renewalDays);
  if (state === "expired") events.certificateExpired(certificateExpiresAtMs);
}
