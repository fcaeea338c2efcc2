import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { openStore } from "../src/storage/open-store.ts";
import { eventually, operatorToken, post, startTestService, type TestService } from "./harness.ts";
import { canMount, type PostgresServer, startPostgres } from "./postgres.ts";
import { runInProcess } from "./terminal.ts";

let server: PostgresServer;
let database: string;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(async () => {
  database = await server.newDatabase();
});

// The store's deadline for a batch is five seconds; the rest allows for a slow machine.
const answeredWithinMs = 5900;
const backWithinMs = 4000;

const cancelWaits = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

const create = (running: TestService, id: number) => post(running.url, `{"id":${id},"name":"plant ${id}"}`);
const ready = async (running: TestService) => (await fetch(`${running.url}/readyz`)).status;

async function expectUnavailable(running: TestService, id: number): Promise<void> {
  const startMs = performance.now();
  const response = await create(running, id);
  expect([response.status, await response.json()]).toMatchObject([503, { error: 50302 }]);
  expect(response.headers.get("retry-after")).toBe("1");
  expect(performance.now() - startMs).toBeLessThan(answeredWithinMs);
}

async function expectBack(running: TestService, id: number): Promise<void> {
  await eventually(async () => (await ready(running)) === 200, backWithinMs);
  expect((await create(running, id)).status).toBe(200);
}

/** The server's backend processes, one for each client. */
function sessionsOf(postmaster: number): number[] {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8");
  const pids = children.trim().split(" ").map(Number);
  return pids.filter((pid) => /127\.0\.0\.1/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8")));
}

/** Changes a server setting, effective immediately in all sessions that do not override it. */
async function configure(setting: string): Promise<void> {
  await server.run(`ALTER SYSTEM ${setting}`);
  await server.run("SELECT pg_reload_conf()");
}

/** Makes every commit wait for a standby that does not exist. */
async function waitForStandby(): Promise<void> {
  await configure("SET synchronous_standby_names = 'nobody'");
  // The server applies the setting shortly after the reload, so the test waits until one of its own writes hangs.
  for (let waits = false; !waits; ) {
    let ended = false;
    const write = "CREATE TABLE IF NOT EXISTS standby_test (n INT); INSERT INTO standby_test VALUES (1)";
    const writing = server.run(write).finally(() => {
      ended = true;
    });
    while (!ended && !waits) waits = (await server.run(cancelWaits)).length > 0;
    await writing;
  }
}

/** Sends plants continuously until stopped; collects acknowledged ids, and any status but 200 and 503. */
function load(running: TestService, clients: number) {
  const acknowledged: number[] = [];
  const strange: number[] = [];
  let next = 1_000_000;
  let stopped = false;
  const client = async () => {
    while (!stopped) {
      const id = next++;
      const { status } = await create(running, id);
      if (status === 200) acknowledged.push(id);
      else if (status !== 503) strange.push(status);
      else await Bun.sleep(20);
    }
  };
  const all = Array.from({ length: clients }, client);
  return {
    acknowledged,
    strange,
    async stop() {
      stopped = true;
      await Promise.all(all);
    },
  };
}

describe("while the database is unreachable", () => {
  for (const how of ["fast", "immediate"] as const) {
    test(`(${how} shutdown) every plant gets 50302, and after a restart nothing is lost`, async () => {
      await using running = await startTestService({}, database);
      const sending = load(running, 16);
      await eventually(() => sending.acknowledged.length > 200);
      await server.stop(how);
      await expectUnavailable(running, 1);
      expect(await ready(running)).toBe(503);
      expect((await fetch(`${running.url}/livez`)).status).toBe(200);
      // Once it is known to be unreachable, no plant waits for it.
      const startMs = performance.now();
      await expectUnavailable(running, 1);
      expect(performance.now() - startMs).toBeLessThan(500);
      await server.start();
      await expectBack(running, 2);
      const before = sending.acknowledged.length;
      await eventually(() => sending.acknowledged.length > before + 100);
      await sending.stop();
      expect(sending.strange).toEqual([]);
      const stored = new Set((await server.stored(database)).map(({ id }) => Number(id)));
      expect(sending.acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    }, 40_000);
  }

  test("a short restart only delays the plants that wait", async () => {
    await using running = await startTestService({}, database);
    expect((await create(running, 1)).status).toBe(200);
    await server.stop("fast");
    const waiting = create(running, 2);
    await Bun.sleep(300);
    await server.start();
    expect((await waiting).status).toBe(200);
    expect(running.logged.join("")).not.toContain("accepts no writes");
  }, 20_000);

  test("a server that hangs is abandoned in time, with a bounded queue, and used again when it continues", async () => {
    await using running = await startTestService({ "max-pending": "4" }, database);
    expect((await create(running, 1)).status).toBe(200);
    const pids = (await server.run<{ pid: number }>("SELECT pid FROM pg_stat_activity")).map(
      ({ pid }) => pid,
    );
    const all = [server.postmaster().pid ?? 0, ...pids];
    const signal = (name: NodeJS.Signals) => {
      for (const pid of all) {
        try {
          process.kill(pid, name);
        } catch {
          // The session that listed the pids has ended.
        }
      }
    };
    signal("SIGSTOP");
    try {
      const startMs = performance.now();
      const responses = await Promise.all(Array.from({ length: 20 }, (_, id) => create(running, id + 10)));
      expect(performance.now() - startMs).toBeLessThan(answeredWithinMs);
      const errors = await Promise.all(
        responses.map(async (response) => ((await response.json()) as { error: number }).error),
      );
      expect(errors.filter((error) => error === 50302)).toHaveLength(4);
      expect(errors.filter((error) => error === 50301)).toHaveLength(16);
      expect(await ready(running)).toBe(503);
    } finally {
      signal("SIGCONT");
    }
    await expectBack(running, 2);
  }, 30_000);

  test("a server that accepts connections and never responds costs no more than five seconds", async () => {
    await using running = await startTestService({}, database);
    expect((await create(running, 1)).status).toBe(200);
    const postmaster = server.postmaster().pid ?? 0;
    process.kill(postmaster, "SIGSTOP");
    try {
      for (const pid of sessionsOf(postmaster)) process.kill(pid, "SIGTERM");
      await expectUnavailable(running, 2);
    } finally {
      process.kill(postmaster, "SIGCONT");
    }
    await eventually(async () => (await ready(running)) === 200, 10_000);
  }, 30_000);

  test("an idle service reports it on /readyz, before a client sends a plant", async () => {
    await using running = await startTestService({}, database);
    expect(await ready(running)).toBe(200);
    await server.stop("fast");
    await eventually(async () => (await ready(running)) === 503, 4000);
    await server.start();
    await eventually(async () => (await ready(running)) === 200, backWithinMs);
  }, 20_000);
});

describe("a server", () => {
  test("that has no connections left is retried until it has some", async () => {
    await server.run("CREATE ROLE gardener LOGIN");
    await server.run(`GRANT ALL ON SCHEMA public TO gardener`, database);
    await using running = await startTestService({}, database.replace("postgres@", "gardener@"));
    expect((await create(running, 1)).status).toBe(200);
    await server.run("ALTER ROLE gardener CONNECTION LIMIT 0");
    await server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gardener'");
    await expectUnavailable(running, 2);
    expect(running.logged.join("")).toContain("too many connections");
    await server.run("ALTER ROLE gardener CONNECTION LIMIT -1");
    await expectBack(running, 2);
  }, 30_000);

  test("whose sessions are read-only is used again once they are not", async () => {
    await using running = await startTestService({}, database);
    expect((await create(running, 1)).status).toBe(200);
    await configure("SET default_transaction_read_only = on");
    try {
      // Open sessions read the setting when the postmaster's signal reaches them.
      await eventually(async () => (await create(running, 1)).status === 503);
      await expectUnavailable(running, 2);
      expect(await ready(running)).toBe(503);
      expect(running.logged.join("")).toContain("default_transaction_read_only is on");
      expect(running.logged.join("")).not.toContain("standby");
    } finally {
      await configure("RESET default_transaction_read_only");
    }
    await expectBack(running, 2);
  }, 30_000);
});

describe("a statement that the server cancels, because of its own statement_timeout", () => {
  test("gets 50302 on the operator listener", async () => {
    await server.run(`ALTER DATABASE ${new URL(database).pathname.slice(1)} SET statement_timeout = 100`);
    await using running = await startTestService({}, database);
    const locking = server.run(
      "SET statement_timeout = 0; BEGIN; LOCK TABLE plants; SELECT pg_sleep(60)",
      database,
    );
    const ended = locking.catch(() => {});
    const held = "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted";
    await eventually(async () => (await server.run(held)).length > 0);
    for (const path of ["/api/overview", "/api/plants", "/api/plants/1"]) {
      const headers = { Authorization: `Bearer ${operatorToken}` };
      const response = await fetch(`${running.operatorUrl}${path}`, { headers });
      expect([path, await response.json()]).toMatchObject([path, { error: 50302 }]);
    }
    await server.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%LOCK TABLE%60)'",
    );
    await ended;
  }, 20_000);
});

describe("ready means that a plant could be stored", () => {
  test("so a lock on the table makes it unready until it is released", async () => {
    await using running = await startTestService({}, database);
    expect(await ready(running)).toBe(200);
    const locking = server.run("BEGIN; LOCK TABLE plants IN SHARE MODE; SELECT pg_sleep(60)", database);
    const ended = locking.catch(() => {});
    await eventually(async () => (await ready(running)) === 503, 4000);
    for (let look = 0; look < 3; look++) {
      await Bun.sleep(300);
      expect(await ready(running)).toBe(503);
    }
    await server.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK%'",
    );
    await ended;
    await expectBack(running, 1);
  }, 30_000);

  test("on every node, though each commit takes 100 ms", async () => {
    const options = { database, databasePassword: undefined, allowUnsafeDatabase: false };
    const nodes = await Promise.all(Array.from({ length: 24 }, () => openStore(options)));
    try {
      await Promise.all(nodes.map(({ plants }) => plants.probe()));
      // Each commit waits this many microseconds before its flush, holding its locks.
      await configure("SET commit_delay = 100000");
      await configure("SET commit_siblings = 0");
      await Bun.sleep(200);
      for (let round = 0; round < 2; round++)
        expect(await Promise.all(nodes.map(({ plants }) => plants.probe()))).toHaveLength(24);
    } finally {
      await configure("RESET commit_delay");
      await configure("RESET commit_siblings");
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    }
  }, 30_000);

  test("and removes the rows of nodes that no longer exist", async () => {
    await using running = await startTestService({}, database);
    await server.run("INSERT INTO plant_store_nodes VALUES ('gone', 1)", database);
    expect(await ready(running)).toBe(200);
    const rows = await server.run<{ node: string }>("SELECT node FROM plant_store_nodes", database);
    expect(rows.map(({ node }) => node)).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });
});

describe("a server that can lose acknowledged writes", () => {
  for (const setting of ["synchronous_commit", "fsync"]) {
    test(`(${setting}=off) is refused at the start, unless the operator allows it`, async () => {
      await configure(`SET ${setting} = off`);
      try {
        const refused = await runInProcess(["serve", "--listen", "127.0.0.1:0", "--database", database]);
        expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(`has ${setting}=off`)]);
        expect(refused.err.trim().split("\n")).toHaveLength(1);
        await using running = await startTestService({ "allow-unsafe-database": "yes" }, database);
        expect((await create(running, 1)).status).toBe(200);
      } finally {
        await configure(`RESET ${setting}`);
      }
    });
  }

  test("is refused on each new connection, while open connections stay in use", async () => {
    await using running = await startTestService({}, database);
    expect((await create(running, 1)).status).toBe(200);
    await configure("SET synchronous_commit = off");
    try {
      expect((await create(running, 2)).status).toBe(200);
      await server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'plants%'");
      await expectUnavailable(running, 3);
      expect(running.logged.join("")).toContain("synchronous_commit=off");
    } finally {
      await configure("RESET synchronous_commit");
    }
    await expectBack(running, 3);
  }, 20_000);
});

describe("a standby that does not confirm", () => {
  // A server with this setting gets the statements for Citus, which PostgreSQL also accepts.
  const forms = { PostgreSQL: "", Citus: "?options=-c%20citus.shard_count%3D8" };
  test.each(Object.entries(forms))(
    "makes a cancelled wait a failure, and a retry waits for it again (%s)",
    async (_, options) => {
      await using running = await startTestService({}, `${database}${options}`);
      expect((await create(running, 1)).status).toBe(200);
      await waitForStandby();
      try {
        const waiting = create(running, 2);
        await eventually(async () => (await server.run(cancelWaits)).length > 0);
        const refused = await waiting;
        expect([refused.status, await refused.json()]).toMatchObject([503, { error: 50302 }]);
        expect(running.logged.join("")).toContain("canceling wait for synchronous replication");
        // It is visible on the primary now, but the standby may not have it.
        expect((await server.stored(database)).map(({ id }) => id)).toEqual([1n, 2n]);
        const again = create(running, 2);
        const answered = await Promise.race([again.then(() => true), Bun.sleep(700).then(() => false)]);
        expect(answered).toBe(false);
        await configure("RESET synchronous_standby_names");
        expect((await again).headers.get("idempotent-replayed")).toBe("true");
      } finally {
        await configure("RESET synchronous_standby_names");
      }
    },
    30_000,
  );

  test("is detected even if the role hides warnings", async () => {
    await server.run("CREATE ROLE deaf LOGIN SUPERUSER; ALTER ROLE deaf SET client_min_messages = error");
    await using running = await startTestService({}, database.replace("postgres@", "deaf@"));
    expect((await create(running, 1)).status).toBe(200);
    await waitForStandby();
    try {
      const waiting = create(running, 2);
      await eventually(async () => (await server.run(cancelWaits)).length > 0);
      expect((await waiting).status).toBe(503);
    } finally {
      await configure("RESET synchronous_standby_names");
    }
  }, 30_000);

  test("does not use up the server's connections", async () => {
    await using running = await startTestService({}, database);
    await waitForStandby();
    const waiting = async () =>
      (
        await server.run<{ pid: number }>("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
      ).map(({ pid }) => pid);
    try {
      const refused = expectUnavailable(running, 1);
      await eventually(async () => (await waiting()).length > 0);
      const [abandoned = 0] = await waiting();
      await refused;
      // It does not notice that its client is gone, so the next connection cancels it.
      await eventually(async () => !(await waiting()).includes(abandoned));
      const sessions = await server.run(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'plant-store'",
      );
      expect(sessions.length).toBeLessThanOrEqual(3);
    } finally {
      await configure("RESET synchronous_standby_names");
    }
    await expectBack(running, 1);
  }, 30_000);
});

describe("a full disk", () => {
  test.skipIf(!canMount)(
    "is answered with 50302 and loses nothing, and the service recovers when there is space",
    async () => {
      await using small = await startPostgres({ smallDiskMb: 24 });
      await small.run(`CREATE TABLESPACE small LOCATION '${small.folder}/small'`);
      await small.run("CREATE DATABASE plants TABLESPACE small");
      const place = `postgres://postgres@127.0.0.1:${small.port}/plants`;
      await using running = await startTestService({}, place);
      const filler = `/proc/${small.postmaster().pid}/root${small.folder}/small/filler`;
      writeFileSync(filler, Buffer.alloc(12 * 1024 * 1024));
      const acknowledged: number[] = [];
      const createLarge = async (id: number) => {
        // Random, so that it cannot be compressed.
        const name = `${id} ${randomBytes(3000).toString("hex")}`;
        const { status } = await post(running.url, JSON.stringify({ id, name }));
        if (status === 200) acknowledged.push(id);
        return status;
      };
      let status = 200;
      let id = 1;
      while (status === 200 && id < 5000) status = await createLarge(id++);
      expect(status).toBe(503);
      expect(acknowledged.length).toBeGreaterThan(10);
      expect(running.logged.join("")).toContain("No space left on device");
      expect(await createLarge(id++)).toBe(503);
      expect((await fetch(`${running.url}/livez`)).status).toBe(200);
      rmSync(filler);
      await eventually(async () => (await createLarge(id++)) === 200, backWithinMs);
      const stored = new Set((await small.stored(place)).map((plant) => Number(plant.id)));
      expect(acknowledged.filter((one) => !stored.has(one))).toEqual([]);
    },
    60_000,
  );
});
