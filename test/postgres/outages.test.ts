// A PostgreSQL that cannot be reached, hangs or goes away: what waits, what is refused, and what comes back.
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConnectionPool } from "../../src/storage/postgres/connection-pool.ts";
import { StatementTimeout } from "../../src/storage/postgres/faults.ts";
import { Server } from "../../src/storage/postgres/server.ts";
import { Session, type Statement } from "../../src/storage/postgres/session.ts";
import { minuteMs } from "../../src/text/duration.ts";
import { caught } from "../support/caught.ts";
import { expectOneLine } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { auditEntry, openStoreAt, openTokensAt, testToken } from "../support/open-engine-store.ts";
import { operatorGet } from "../support/operator-requests.ts";
import { errorIn, post, postPlant, statusOf } from "../support/post-plants.ts";
import { type Databases, openTransaction, usePostgres } from "../support/postgres.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess, serveInProcess } from "../support/terminal.ts";
import { startOpenService, startTestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

let server: Databases & AsyncDisposable;
// One for all tests but those that change it: they store plants that may be replayed, and tokens under names of their own.
let database: string;
// Started here, beside the other tests, since it retries for ten seconds.
let toNowhere: ReturnType<typeof runInProcess>;
beforeAll(async () => {
  toNowhere = runInProcess(["token", "list"], {
    environment: { PLANT_STORE_DATABASE: "postgres://me:secret@127.0.0.1:1/plants" },
  });
  server = await usePostgres();
  database = await server.newDatabase();
  await createToken();
});
afterAll(() => server[Symbol.asyncDispose]());

type Reachable = { readonly url: string };
const throughPort = (port: number, url = database) => url.replace(/:\d+\//, `:${port}/`);
const proxied = () => startTcpProxy(Number(new URL(database).port));
/** Creates a token, and with it the tables of an empty database. */
const createToken = async (url = database) =>
  (await runInProcess(["token", "create", "--name", crypto.randomUUID(), "--database", url])).out.trim();

async function expectUnavailable(service: Reachable, id: number, headers = {}): Promise<void> {
  const response = await postPlant(service.url, id, headers);
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("1");
  expect(await response.json()).toMatchObject({ error: 50302 });
}

async function expectBack(service: Reachable, id: number): Promise<void> {
  await eventually(
    async () => (await statusOf(service.url, "/readyz")) === 200,
    "the service to be ready again",
  );
  await eventually(async () => (await postPlant(service.url, id)).status === 200, "a plant to be stored");
}

describe("a database that cannot be reached", () => {
  test("only delays the plants that wait if it is back soon", async () => {
    using proxy = await proxied();
    await using service = await startOpenService(throughPort(proxy.port));
    expect((await postPlant(service.url, 1)).status).toBe(200);
    proxy.refuse();
    const waiting = postPlant(service.url, 2);
    await eventually(() => proxy.refused() > 0, "the service to try again");
    proxy.accept();
    expect((await waiting).status).toBe(200);
    expect(service.logged.join("")).not.toContain("store unavailable");
  });

  test("because it hangs refuses the plants in the queue and those beyond it", async () => {
    using proxy = await proxied();
    const flags = { "max-pending": "4", database: throughPort(proxy.port) };
    await using service = await startTestService(flags, {}, { createMsMax: 2000 });
    await service.openedLater;
    expect((await postPlant(service.url, 1)).status).toBe(200);
    proxy.cut();
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, id) => postPlant(service.url, id + 10)),
    );
    const errors = await Promise.all(responses.map(async (response) => (await errorIn(response)).error));
    expect(errors.filter((error) => error === 50301)).toHaveLength(16);
    expect(errors.filter((error) => error === 50302)).toHaveLength(4);
    expect(await statusOf(service.url, "/readyz")).toBe(503);

    // It goes on, and is used again.
    proxy.restore();
    await expectBack(service, 2);
  });

  test("because it hangs does not keep a stop waiting for its statements", async () => {
    using proxy = await proxied();
    const options = { databasePassword: undefined, allowUnsafeDatabase: true };
    const hanging = new Server(throughPort(proxy.port), options);
    const pool = new ConnectionPool({ server: hanging, count: 1, statementMsMax: 10 * minuteMs });
    const started = Promise.withResolvers<void>();
    const statement = pool.use(600_000, (run) => {
      proxy.cut();
      started.resolve();
      return run({ text: "SELECT 1" });
    });
    await started.promise;
    const failure = caught(statement);
    await pool.close();
    expect(String(await failure)).toContain("Connection terminated");
  });

  test("just after it was opened does not stop the service", async () => {
    const secret = await createToken();
    using proxy = await proxied();
    proxy.loseResponsesTo("FROM tokens");
    const flags = { database: throughPort(proxy.port) };
    await using service = await startTestService(flags, {}, { tokensMsMax: 300 });
    await eventually(() => service.logged.join("").includes("database unavailable, retrying"));
    expect((await postPlant(service.url, 1, bearer(secret))).status).toBe(503);
    proxy.loseResponsesTo(undefined);
    await service.openedLater;
    expect((await postPlant(service.url, 1, bearer(secret))).status).toBe(200);
  });

  test("fails a command, which has said meanwhile why it waits", async () => {
    const { code, err } = await toNowhere;
    expect(code).toBe(1);
    const [waiting, failed] = err.split("\n");
    expect(waiting).toStartWith("Waiting for the database: ");
    expect(failed).toStartWith("plant-store: The database cannot be used: ");
    expect(err).not.toContain("secret");
  });

  test("on the host that was the primary is looked for on the others", async () => {
    using before = await proxied();
    using after = await proxied();
    const hosts = `127.0.0.1:${before.port},127.0.0.1:${after.port}`;
    const options = { databasePassword: undefined, allowUnsafeDatabase: true };
    const cluster = new Server(database.replace(/127\.0\.0\.1:\d+/, hosts), options);
    after.refuse();
    await cluster.findPrimary();
    // No connection to it is open that could be lost: the next one already fails to connect.
    before.refuse();
    after.accept();
    await using cleanUp = new AsyncDisposableStack();
    const pool = new ConnectionPool({ server: cluster, count: 1, statementMsMax: 10_000 });
    cleanUp.defer(() => pool.close());
    expect(await pool.query({ text: "SELECT 1" })).toEqual([["1"]]);
    expect(before.refused()).toBeGreaterThan(0);
  });

  test("on one of its hosts is used on another", async () => {
    await using service = await startOpenService(database.replace("127.0.0.1", "127.0.0.1:1,127.0.0.1"));
    expect((await postPlant(service.url, 1)).status).toBe(200);
  });
});

describe("a statement that was not answered in time", () => {
  const isCancel = ({ text }: Statement) => text.includes("pg_cancel_backend");
  const select = (pool: ConnectionPool) => pool.use(minuteMs, (run) => run({ text: "SELECT 1" }));

  /** A pool with a session whose statement was not answered. */
  async function openWithAbandoned() {
    const pool = new ConnectionPool({
      server: new Server(database, { databasePassword: undefined, allowUnsafeDatabase: true }),
      count: 1,
      statementMsMax: 10 * minuteMs,
      retryMsMax: 0,
    });
    const unanswered = pool.use(minuteMs, async () => {
      throw new StatementTimeout("not answered");
    });
    await expect(unanswered).rejects.toThrow("not answered");
    return { pool, [Symbol.asyncDispose]: () => pool.close() };
  }

  test("is cancelled within the time of the work that comes next", async () => {
    await using opened = await openWithAbandoned();
    using runs = spyOn(Session.prototype, "run");
    await select(opened.pool);
    const cancel = runs.mock.calls.find(([statement]) => isCancel(statement));
    const timeoutMs = cancel?.[2];
    expect(timeoutMs).toBeLessThanOrEqual(minuteMs);
  });

  test("is cancelled by later work if the first attempt to cancel it is not answered either", async () => {
    await using opened = await openWithAbandoned();
    const run = Session.prototype.run;
    const cancelled: unknown[] = [];
    using _run = spyOn(Session.prototype, "run").mockImplementation(async function (this: Session, ...args) {
      const [statement, values] = args;
      if (!isCancel(statement)) return run.apply(this, args);
      cancelled.push(values?.[0]);
      throw new StatementTimeout("the cancel was not answered");
    });
    await expect(select(opened.pool)).rejects.toThrow("the cancel was not answered");
    await expect(select(opened.pool)).rejects.toThrow("the cancel was not answered");
    const [first, second] = cancelled as number[][];
    expect(first).toHaveLength(1);
    expect(second).toContain(first?.[0] as number);
  });
});

describe("a database that is unreachable at the start", () => {
  test("leaves the service alive but unready, and its tokens unknown, until it is reached", async () => {
    const earlierToken = "some-token-of-an-earlier-run";
    using proxy = await proxied();
    proxy.refuse();
    const address = throughPort(proxy.port).replace("postgres@", "postgres:hidden-password@");
    await using service = await serveInProcess(["--database", address]);
    expect(service.out()).toContain("The database is not available yet");
    expect(await statusOf(service.url, "/livez")).toBe(200);
    expect(await statusOf(service.url, "/readyz")).toBe(503);
    await expectUnavailable(service, 1, bearer(earlierToken));
    expect((await post(service.url, "{}", { Authorization: "" })).status).toBe(401);
    // It is logged far less often than it is tried.
    await eventually(() => proxy.refused() > 6, "several attempts");
    expect(service.err().match(/database unavailable, retrying/g)?.length).toBeLessThan(4);

    proxy.accept();
    await eventually(async () => (await statusOf(service.url, "/readyz")) === 200, "the service to be ready");
    expect((await post(service.url, "{}", bearer(earlierToken))).status).toBe(401);
    expect(service.out()).toContain("postgres://postgres:***@127.0.0.1");
    expect(service.err()).toContain("every user of this machine can read the password in --database");
    expect(service.out() + service.err()).not.toContain("hidden-password");
  });

  test("gets one first token once it connects, even if the responses to its COMMIT are lost", async () => {
    const empty = await server.newDatabase();
    using folder = temporaryFolder();
    const file = join(folder.path, "first-token");
    using proxy = await proxied();
    proxy.refuse();
    const flags = ["--database", throughPort(proxy.port, empty), "--token-folder", folder.path];
    await using service = await serveInProcess(flags);
    expect(existsSync(file)).toBe(false);
    proxy.loseResponsesTo("COMMIT");
    proxy.accept();
    await eventually(() => proxy.lost() > 0, "the first token to be committed");
    proxy.loseResponsesTo(undefined);
    await eventually(() => service.out().includes(file), "the first token to be delivered");
    expect(service.out()).toContain("The database is available now");
    const secret = readFileSync(file, "utf8").trim();
    expect((await postPlant(service.url, 1, bearer(secret))).status).toBe(200);
    const changes = await server.run("SELECT name, action FROM tokens, audit_trail", empty);
    expect(changes).toEqual([{ name: "first", action: "token.created" }]);
  });

  test("stops the service if it turns out to be unusable", async () => {
    using proxy = await proxied();
    proxy.refuse();
    const address = throughPort(proxy.port).replace("postgres@", "nobody:wrong-and-secret@");
    await using service = await serveInProcess(["--database", address]);
    proxy.accept();
    const { code, err } = await service.ended;
    expect(code).toBe(2);
    expect(err.trim().split("\n").at(-1)).toMatch(/^plant-store: The database cannot be used: role "nobody"/);
    expect(err).not.toContain("wrong-and-secret");
  });

  test("stops the service with exit code 1 if reading its tokens is an internal error", async () => {
    const damaged = await server.newDatabase();
    await createToken(damaged);
    const role = await createRole();
    await grantAllButUpdateOfTokens(role, damaged);
    // A policy that raises what PostgreSQL raises for a damaged page. The owner of the table is not subject to it.
    await server.run(
      `GRANT UPDATE ON tokens TO ${role};
       CREATE FUNCTION damaged() RETURNS boolean LANGUAGE plpgsql AS $$
         BEGIN RAISE EXCEPTION 'invalid page in block 0' USING ERRCODE = 'XX001'; END $$;
       ALTER TABLE tokens ENABLE ROW LEVEL SECURITY;
       CREATE POLICY damaged ON tokens USING (damaged())`,
      damaged,
    );
    using proxy = await proxied();
    proxy.refuse();
    await using service = await serveInProcess(["--database", throughPort(proxy.port, urlOf(role, damaged))]);
    proxy.accept();
    const { code, err } = await service.ended;
    expect(code).toBe(1);
    expect(err).toContain('"plant_store.stop_reason":"invalid page in block 0"');
    expect(err).toContain("\nplant-store: Internal error, please report it: error: invalid page in block 0");
    expect(err).not.toContain("write outcome unknown");
  });
});

test("a first token that could not be saved is not created", async () => {
  const empty = await server.newDatabase();
  await using service = await serveInProcess(["--database", empty]);
  // It may listen before its database is open.
  const message = "There is no token yet, and no --token-folder to write one to.";
  await eventually(() => service.out().includes(message));
  await eventually(() => service.err().includes(message));
  expect(service.out()).toContain("plant-store token create --name NAME");
  expect(await server.run("SELECT name FROM tokens", empty)).toEqual([]);
});

describe("a database that accepts no writes", () => {
  test("because its sessions are read-only is used again once they are not", async () => {
    const changed = await server.newDatabase();
    await using service = await startOpenService(changed, {}, { createMsMax: 1500 });
    await expectBack(service, 1);
    const name = new URL(changed).pathname.slice(1);
    const configure = (setting: string) =>
      server.run(
        `ALTER DATABASE ${name} ${setting};
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
      );
    await configure("SET default_transaction_read_only = on");
    await expectUnavailable(service, 2);
    expect(await statusOf(service.url, "/readyz")).toBe(503);
    expect(service.logged.join("")).toContain("default_transaction_read_only is on");
    await configure("RESET default_transaction_read_only");
    await expectBack(service, 2);
  });

  test("because someone has locked the table leaves the service unready until it is released", async () => {
    await using service = await startOpenService(database, {}, { readRetryMsMax: 0 });
    expect(await statusOf(service.url, "/readyz")).toBe(200);
    await using locking = await openTransaction(database, "LOCK TABLE plants");
    await eventually(async () => (await statusOf(service.url, "/readyz")) === 503, "the lock to be noticed");
    const reads = ["/api/overview", "/api/plants", "/api/plants/1"];
    const responses = await Promise.all(reads.map((path) => operatorGet(service, path)));
    expect(responses).toMatchObject(reads.map(() => ({ error: 50302 })));
    await locking.rollBack();
    await expectBack(service, 1);
  });
});

test("an export that is interrupted while it still counts the plants says so", async () => {
  await using _locking = await openTransaction(database, "LOCK TABLE plants");
  const counting =
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'relation'";
  const waitForStopSignal = async () => {
    await eventually(async () => (await server.run(counting, database)).length > 0, "the count to wait");
    return "SIGINT";
  };
  const { code, out, err } = await runInProcess(["export", "--database", database], { waitForStopSignal });
  expect(code).toBe(130);
  expect(out).toBe("");
  expect(err).toStartWith(
    "Interrupted while exporting as ndjson, after 0 plants. The output is not complete.",
  );
});

describe("a change of tokens", () => {
  test.each(["INSERT INTO audit_trail", "INSERT INTO tokens", "COMMIT"])(
    "is stored once if the response to its %s is lost",
    async (statement) => {
      const empty = await server.newDatabase();
      await using store = await openStoreAt(empty);
      using proxy = await proxied();
      await using command = await openTokensAt(throughPort(proxy.port, empty), { mayCreate: false });
      proxy.loseResponsesTo(statement);
      const adding = command.tokens.add(testToken("aaa"), auditEntry("token.created"));
      await eventually(() => proxy.lost() > 0, "a response to be lost");
      proxy.loseResponsesTo(undefined);
      await adding;
      expect(await store.tokens.all()).toEqual([testToken("aaa")]);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(1);
    },
  );

  test("has sessions that the server ends after five seconds idle in a transaction", async () => {
    const options = { databasePassword: undefined, allowUnsafeDatabase: true };
    const session = await new Server(database, options).open();
    const shown = await session.run({ text: "SHOW idle_in_transaction_session_timeout" });
    session.destroy();
    expect(shown).toEqual([["5s"]]);
  });

  test("that the database rejects leaves no transaction open", async () => {
    const empty = await server.newDatabase();
    await using store = await openStoreAt(empty);
    await server.run("ALTER TABLE tokens ADD CONSTRAINT own CHECK (digest <> 'aaa')", empty);
    await expect(store.tokens.add(testToken("aaa"), auditEntry("token.created"))).rejects.toThrow("own");
    await store.tokens.add(testToken("bbb"), auditEntry("token.created"));
    expect(await store.tokens.all()).toEqual([testToken("bbb")]);
    expect(await store.audit.page(10, undefined)).toMatchObject({ entries: [{ action: "token.created" }] });
  });
});

/** Creates a role without any privilege. */
async function createRole(): Promise<string> {
  const role = `helper_${crypto.randomUUID().slice(0, 8)}`;
  await server.run(`CREATE ROLE ${role} LOGIN`);
  return role;
}

const urlOf = (role: string, url = database) => url.replace("postgres@", `${role}@`);

const grantAllButUpdateOfTokens = (role: string, url = database) =>
  server.run(
    `GRANT SELECT ON plant_store_schema TO ${role}; GRANT SELECT, INSERT, UPDATE ON plants TO ${role};
     GRANT SELECT, INSERT ON tokens TO ${role}; GRANT ALL ON plant_store_nodes, audit_trail TO ${role}`,
    url,
  );

test("a role that does not own the tables needs no more privileges than those that are checked", async () => {
  const role = await createRole();
  await grantAllButUpdateOfTokens(role);
  await server.run(`GRANT UPDATE ON tokens TO ${role}`, database);
  await using service = await startOpenService(urlOf(role));
  const id = 7000;
  expect((await postPlant(service.url, id)).headers.has("idempotent-replayed")).toBe(false);
  expect((await postPlant(service.url, id)).headers.has("idempotent-replayed")).toBe(true);
});

test("a database that cannot be used is refused at the start, in one sentence", async () => {
  const latin = `${new URL(database).pathname.slice(1)}_latin`;
  const encoding = "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0";
  await server.run(`CREATE DATABASE ${latin} ${encoding}`);
  const role = await createRole();
  await grantAllButUpdateOfTokens(role);
  const refused: [url: string, says: string][] = [
    [`${database}_latin`, "has the encoding LATIN1"],
    [`${database}_none`, "; create it, or check its name"],
    [urlOf(role, await server.newDatabase()), "permission denied for schema public"],
    [urlOf(role), `role ${role} lacks UPDATE on the table tokens`],
    [`${database}?sslmode=require`, "does not support SSL connections; turn on ssl there, or"],
  ];
  for (const [url, says] of refused) {
    const { code, err } = await runInProcess(["serve", "--database", url]);
    expect(code).toBe(2);
    expect(err).toContain(says);
    expectOneLine(err);
  }
});
