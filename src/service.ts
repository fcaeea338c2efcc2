import { setTimeout as sleep } from "node:timers/promises";
import { Gate } from "./access/gate.ts";
import { RateLimit } from "./access/rate-limit.ts";
import { createToken, type TokenStore } from "./access/tokens.ts";
import type { Config } from "./config/read-config.ts";
import { startPublicListener } from "./http/public-listener.ts";
import { Intake } from "./plants/intake.ts";
import { SqliteStore } from "./storage/sqlite/sqlite-store.ts";
import { createEvents, type Events } from "./telemetry/events.ts";
import type { Log } from "./telemetry/log.ts";

export interface Service {
  readonly publicUrl: string;
  /** The secret minted because the store had no token yet; undefined on every later start. */
  readonly firstSecret: string | undefined;
  /** Settles if the service must stop by itself, because what is stored is in doubt. */
  readonly failed: Promise<Error>;
  /** Goes unready, finishes what is in flight, and closes the store. */
  close(reason: string): Promise<void>;
}

// Asked this often, a revoked token is out well within a second.
const tokensLookEveryMs = 250;

/** Wires everything, top to bottom. The command line runs this, and so do the tests. */
export async function startService(config: Config, log: Log): Promise<Service> {
  await using undo = new AsyncDisposableStack();
  const events = createEvents(log, Date.now);
  const failed = Promise.withResolvers<Error>();

  const store = undo.use(new SqliteStore(config.database));
  const gate = new Gate(config.presetTokens);
  const firstSecret = await mintFirstToken(store.tokens, config);
  gate.update(await store.tokens.all());
  const watch = setInterval(() => void refreshTokens(gate, store.tokens, events), tokensLookEveryMs);
  undo.defer(() => clearInterval(watch));

  const intake = new Intake({
    store: store.plants,
    pendingMax: config.pendingMax,
    onUnavailable: events.storeUnavailable,
    onAvailable: events.storeAvailable,
    onUncertain(reason) {
      events.storeUncertain(reason);
      failed.resolve(reason);
    },
  });
  const rateLimit = config.rateLimit && new RateLimit(config.rateLimit);
  const listener = startPublicListener(
    { gate, rateLimit, intake, events },
    { ...config, host: config.listen.host, port: config.listen.port },
  );

  const owned = undo.move();
  return {
    publicUrl: listener.url,
    firstSecret,
    failed: failed.promise,
    async close(reason) {
      events.stopping(reason);
      listener.goUnready();
      await sleep(config.drainDelayMs);
      await listener.drain(config.drainTimeoutMs);
      await intake.close();
      await owned.disposeAsync();
      events.stopped();
    },
  };
}

async function mintFirstToken(tokens: TokenStore, { presetTokens }: Config): Promise<string | undefined> {
  if (presetTokens.length > 0 || (await tokens.all()).length > 0) return undefined;
  const request = { name: "first", scopes: ["plants:create", "operator"] as const, lifetimeMs: undefined };
  return (await createToken(tokens, request, Date.now())).secret;
}

async function refreshTokens(gate: Gate, tokens: TokenStore, events: Events): Promise<void> {
  try {
    if (!(await tokens.changedElsewhere())) return;
    const all = await tokens.all();
    gate.update(all);
    events.tokensChanged(all.length);
  } catch (error) {
    events.tokensUnreadable(error);
  }
}
