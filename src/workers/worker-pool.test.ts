import { expect, test } from "bun:test";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { eventually, post } from "../../test/harness.ts";
import { freePort } from "../../test/postgres.ts";
import { createRateMemory } from "../access/rate-limit.ts";
import { mintToken } from "../access/tokens.ts";
import type { PublicListenerOptions } from "../public/public-listener.ts";
import { Counters, createCounterMemory } from "../telemetry/counters.ts";
import { createEvents } from "../telemetry/events.ts";
import { createLog } from "../telemetry/log.ts";
import { WorkerPool, WorkerProblem } from "./worker-pool.ts";

const scopes = ["plants:create"] as const;
const jwt = {
  issuer: "https://id.example",
  audience: "plants",
  clientId: undefined,
};
const listener: PublicListenerOptions = {
  host: "127.0.0.1",
  port: 0,
  bodyBytesMax: 1000,
  bodyTimeoutMs: 1000,
  logRequests: "none",
  sharePort: true,
  corsOrigins: [],
  tls: undefined,
  connectionsMax: 100,
  trustedProxies: [],
  baseUrl: undefined,
};

/** One worker, without a main thread that listens beside it, so that it gets every request. */
async function startPool(listens = true) {
  using cleanUp = new DisposableStack();
  const threads = cleanUp.use(watchThreads());
  const logged: string[] = [];
  const log = createLog({ level: "info", format: "json", colour: false, write: (line) => logged.push(line) });
  const counterMemory = createCounterMemory(2);
  const events = createEvents(log, new Counters([], counterMemory), Date.now);
  let isReady = true;
  const pool = new WorkerPool({
    intake: {
      create: (_plant, _createdBy, settle) => settle({ kind: "created" }),
      ready: async () => isReady,
    },
    events,
    log,
    setting: {
      listener,
      rateLimit: undefined,
      rateMemory: createRateMemory(),
      counterNames: [],
      counterMemory,
      presetTokens: [],
      tokens: undefined,
      jwt,
      keys: undefined,
    },
    refreshKeys: async () => {},
  });
  await pool.start(1);
  const port = await freePort();
  if (listens) await pool.listen(port);
  const url = `http://127.0.0.1:${port}`;
  const ended = cleanUp.move();
  return {
    pool,
    logged,
    port,
    threads,
    goUnready: () => {
      isReady = false;
    },
    /** Undefined where nobody answers. */
    async statusOf(secret: string): Promise<number | undefined> {
      const headers = { Authorization: `Bearer ${secret}`, Connection: "close" };
      return (await post(url, '{"id":1,"name":"fern"}', headers).catch(() => undefined))?.status;
    },
    /** Resolves once the workers have done what they were told: a thread handles its messages in order. */
    told: () => pool.takeUses(),
    readyz: async () => (await fetch(`${url}/readyz`, { headers: { Connection: "close" } })).status,
    async [Symbol.asyncDispose]() {
      await pool.drain(0);
      ended.dispose();
    },
  };
}

function watchThreads() {
  const RealWorker = globalThis.Worker;
  const started: Worker[] = [];
  const dying = { next: false };
  globalThis.Worker = class extends RealWorker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options);
      started.push(this);
      if (dying.next) this.terminate();
      dying.next = false;
    }
  };
  return {
    started,
    /** The next one ends before it has started. */
    loseNext: () => {
      dying.next = true;
    },
    [Symbol.dispose]: () => {
      globalThis.Worker = RealWorker;
    },
  };
}

test("a worker that replaces another knows the tokens and keys of that moment", async () => {
  await using running = await startPool();
  const { pool, statusOf } = running;
  const fields = { scopes, expiresAtMs: undefined, createdBy: "test", rateLimit: undefined };
  const [revoked, stored] = ["revoked", "stored"].map((name) => mintToken({ ...fields, name }, Date.now()));
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const signed = await new SignJWT({ sub: "alice", client_id: "greenhouse", scope: "plants:create" })
    .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: "key" })
    .setIssuer(jwt.issuer)
    .setAudience(jwt.audience)
    .setExpirationTime("5m")
    .sign(privateKey);
  const secrets = [revoked?.secret ?? "", stored?.secret ?? "", signed];
  const statuses = async () => {
    const found: (number | undefined)[] = [];
    for (const secret of secrets) found.push(await statusOf(secret));
    return found;
  };
  pool.update([revoked, stored].flatMap((one) => one?.token ?? []));
  await running.told();
  expect(await statuses()).toEqual([200, 200, 503]);
  pool.update(stored ? [stored.token] : []);
  pool.updateKeys([{ ...(await exportJWK(publicKey)), kid: "key", alg: "ES256" }]);
  await running.told();
  const expected = [401, 200, 200];
  expect(await statuses()).toEqual(expected);

  running.threads.started[0]?.terminate();
  await eventually(() => running.threads.started.length === 2);
  await eventually(async () => (await statusOf("unknown")) !== undefined);
  expect(await statuses()).toEqual(expected);
});

test("workers are as ready as the intake, and not at all before they stop", async () => {
  await using running = await startPool();
  expect(await running.readyz()).toBe(200);
  running.pool.goUnready();
  await running.told();
  expect(await running.readyz()).toBe(503);
  await using other = await startPool();
  other.goUnready();
  expect(await other.readyz()).toBe(503);
});

test("a worker that dies once the service is unready is not replaced, and that is logged", async () => {
  await using running = await startPool();
  running.pool.goUnready();
  running.threads.started[0]?.terminate();
  await Bun.sleep(1500);
  expect(running.threads.started).toHaveLength(1);
  expect(running.logged.filter((line) => line.includes("a worker died while"))).toHaveLength(1);
  expect(running.logged.join("")).not.toContain("replaced");
});

test("a replacement that is loading when the service becomes unready does not listen", async () => {
  await using running = await startPool();
  running.threads.started[0]?.terminate();
  await eventually(() => running.threads.started.length === 2);
  running.pool.goUnready();
  // The thread answers this once it has loaded.
  await running.told();
  await Bun.sleep(100);
  expect(await running.readyz().catch(() => "no response")).toBe("no response");
});

test("a worker that is lost meanwhile has no uses, and keeps nobody from stopping", async () => {
  await using running = await startPool();
  running.threads.started[0]?.terminate();
  const { pool } = running;
  expect(await Promise.all([pool.takeUses(), pool.drain(1000)])).toEqual([[], undefined]);
  expect(running.logged.join("")).not.toContain("a worker died");
});

test("a replacement that is lost before it serves is replaced by one other", async () => {
  await using running = await startPool();
  running.threads.loseNext();
  running.threads.started[0]?.terminate();
  await eventually(() => running.threads.started.length === 3);
  await eventually(async () => (await running.readyz().catch(() => 0)) === 200);
  expect(running.logged.filter((line) => line.includes("a worker died"))).toHaveLength(2);
}, 20_000);

test("a worker that cannot listen is stopped, and the reason is reported", async () => {
  await using running = await startPool(false);
  using _occupied = Bun.listen({ hostname: "127.0.0.1", port: running.port, socket: { data() {} } });
  const closed = new Promise((resolve) => running.threads.started[0]?.addEventListener("close", resolve));
  const problem = await running.pool.listen(running.port).catch((error: Error) => error);
  expect(problem).toBeInstanceOf(WorkerProblem);
  expect(String(problem)).toContain(`${running.port} is in use`);
  await closed;
});

test("a replacement that is loading when all are to listen does so once", async () => {
  await using running = await startPool(false);
  running.threads.started[0]?.terminate();
  await eventually(() => running.threads.started.length === 2);
  await running.pool.listen(running.port);
  await eventually(async () => (await running.readyz().catch(() => 0)) === 200);
  // One that listened twice would answer on a listener that nobody stops.
  const statuses = async () => new Set(await Promise.all(Array.from({ length: 20 }, running.readyz)));
  expect(await statuses()).toEqual(new Set([200]));
  running.pool.goUnready();
  await running.told();
  expect(await statuses()).toEqual(new Set([503]));
});
