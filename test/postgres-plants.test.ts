import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { openStore } from "../src/storage/open-store.ts";
import { accessToken, eventually, kindsOf, post, startTestService, temporaryFolder } from "./harness.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";
import { startTcpProxy } from "./tcp-proxy.ts";
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

const open = () => openStore({ database, databasePassword: undefined, allowUnsafeDatabase: false });
const arrivals = (ids: readonly number[], name = "fern") =>
  ids.map((id) => ({ plant: { id: BigInt(id), name, tag: undefined }, createdBy: "t" }));
const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);
const refuseWeeds = "ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name <> 'weed')";

describe("a plant that the database rejects", () => {
  test("gets 50001, and the others in its batch are stored", async () => {
    await using running = await startTestService({}, database);
    await server.run(refuseWeeds, database);
    const bodies = Array.from({ length: 300 }, (_, id) => {
      const name = id % 100 === 7 ? "weed" : `plant ${id}`;
      return { id, name };
    });
    const responses = await Promise.all(bodies.map((body) => post(running.url, JSON.stringify(body))));
    const statuses = responses.map(({ status }) => status);
    expect(statuses).toEqual(bodies.map(({ name }) => (name === "weed" ? 500 : 200)));
    const refused = (await responses[7]?.json()) as { error: number; message: string };
    expect(refused.error).toBe(50001);
    expect(refused.message).not.toMatch(/weed|constraint|plants/i);
    const requestId = responses[7]?.headers.get("x-request-id") ?? "none";
    const line = running.logged.find((one) => one.includes(requestId) && one.includes("no_weeds"));
    expect(line).toContain("23514");
    expect((await server.stored(database)).length).toBe(297);
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    expect(running.logged.join("")).not.toContain("accepts no writes");
  }, 20_000);

  test("is logged with the request that imported it", async () => {
    // An import needs the scopes of both preset tokens.
    const both = { PLANT_STORE_OPERATOR_TOKEN: accessToken };
    await using running = await startTestService({}, database, both);
    await server.run(refuseWeeds, database);
    const trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    const response = await fetch(`${running.operatorUrl}/api/imports?name=plants.ndjson&last=true`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${accessToken}`,
        traceparent: `00-${trace_id}-00f067aa0ba902b7-01`,
      },
      body: '{"id":1,"name":"weed"}\n',
    });
    expect(response.status).toBe(200);
    const lines = running.logged.map((line) => JSON.parse(line));
    expect(lines.find(({ message }) => message === "internal error")).toMatchObject({ trace_id });
  });

  test("preserves the order of arrivals with the same id", async () => {
    await using store = await open();
    await server.run(refuseWeeds, database);
    const arrival = (id: number, name: string) => ({
      plant: { id: BigInt(id), name, tag: undefined },
      createdBy: "t",
    });
    const batch = [arrival(1, "weed"), arrival(1, "rose"), arrival(2, "fern"), arrival(1, "rose")];
    const kinds = kindsOf(await store.plants.create(batch, 1));
    expect(kinds).toEqual(["failed", "created", "created", "replayed"]);
  });

  test("makes others unavailable only if there is no time left, and keeps the store open", async () => {
    await using store = await open();
    await server.run(
      `CREATE FUNCTION refuse_slowly() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_sleep(0.1); RAISE EXCEPTION 'no weeds'; END $$;
       CREATE TRIGGER no_weeds BEFORE INSERT ON plants FOR EACH ROW WHEN (NEW.name = 'weed')
         EXECUTE FUNCTION refuse_slowly()`,
      database,
    );
    const sessions = () =>
      server.run(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'plant-store' ORDER BY pid",
        database,
      );
    await store.plants.create(arrivals([1000]), 1);
    const before = await sessions();
    // Bisecting all of it would take more than twenty seconds.
    const batch = [...arrivals([0, 1]), ...arrivals(upTo(126).slice(2), "weed"), ...arrivals([126, 127])];
    const kinds = kindsOf(await store.plants.create(batch, 1));
    const rest = kinds.indexOf("store-unavailable");
    expect(rest).toBeGreaterThan(3);
    expect(kinds.slice(0, rest)).toEqual(["created", "created", ...Array(rest - 2).fill("failed")]);
    expect(kinds.slice(rest)).toEqual(Array(128 - rest).fill("store-unavailable"));
    expect(kindsOf(await store.plants.create(arrivals([0, 127]), 1))).toEqual(["replayed", "created"]);
    expect(await sessions()).toEqual(before);
  }, 20_000);

  test("is named by copy, which continues with the rest", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    {
      await using running = await startTestService({}, file);
      for (let id = 1; id <= 9; id++)
        await post(running.url, JSON.stringify({ id, name: id === 5 ? "weed" : `plant ${id}` }));
    }
    await (await open())[Symbol.asyncDispose]();
    await server.run(refuseWeeds, database);
    const { code, err, out } = await runInProcess(["copy", "--from", file, "--to", database, "--json"]);
    expect(code).toBe(1);
    expect(err.match(/the plant with the id 5/gi)).toHaveLength(1);
    expect(err).toContain("no_weeds");
    expect(JSON.parse(out)).toMatchObject({ created: 8, failed: 1, compared: 9 });
    expect((await server.stored(database)).map(({ id }) => Number(id))).toEqual([1, 2, 3, 4, 6, 7, 8, 9]);
  }, 20_000);
});

/** A transaction in another session, open until it is released. */
async function openTransaction(sql: string) {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  await client.query(`BEGIN; ${sql}`);
  return { [Symbol.asyncDispose]: () => client.end() };
}

describe("a row that another session has locked", () => {
  const locks = {
    "FOR UPDATE": "SELECT id FROM plants WHERE id = 7 FOR UPDATE",
    "by an INSERT that is not committed": "INSERT INTO plants VALUES (1007, 'fern', NULL, 1, 't')",
  };
  for (const [how, sql] of Object.entries(locks)) {
    test(`${how} makes only its plant unavailable, and the others in its batch are stored in time`, async () => {
      await using store = await open();
      await store.plants.create(arrivals(upTo(500)), 1);
      await using _lock = await openTransaction(sql);
      const kinds = kindsOf(await store.plants.create(arrivals(upTo(1500)), 1));
      const locked = how === "FOR UPDATE" ? 7 : 1007;
      // A retry of the batch finds what the first attempt stored, and reports a replay.
      const stored = ["created", "replayed"];
      expect(upTo(1500).filter((id) => !stored.includes(kinds[id] ?? ""))).toEqual([locked]);
      expect(kinds[locked]).toBe("store-unavailable");
      // The store stays available.
      expect(await store.plants.create(arrivals([2000]), 1)).toEqual([{ kind: "created" }]);
    }, 20_000);
  }

  test("does not cause 503 for other clients while one replays it", async () => {
    await using running = await startTestService({}, database);
    expect((await post(running.url, '{"id":7,"name":"fern"}')).status).toBe(200);
    await using _lock = await openTransaction(locks["FOR UPDATE"]);
    let replaying = true;
    const replayer = (async () => {
      const statuses = [];
      while (replaying) statuses.push((await post(running.url, '{"id":7,"name":"fern"}')).status);
      return new Set(statuses);
    })();
    const endMs = performance.now() + 6500;
    const clients = upTo(8).map(async (client) => {
      const statuses = new Set<number>();
      for (let id = 1000 + client; performance.now() < endMs; id += 8)
        statuses.add((await post(running.url, `{"id":${id},"name":"fern"}`)).status);
      return [...statuses];
    });
    expect((await Promise.all(clients)).flat()).toEqual(Array(8).fill(200));
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    replaying = false;
    expect([...(await replayer)]).toEqual([503]);
  }, 30_000);

  test("is distinguished from a lock on the table, for which the entire batch waits", async () => {
    await using store = await open();
    const lock = await openTransaction("LOCK TABLE plants IN SHARE MODE");
    const creating = store.plants.create(arrivals(upTo(20)), 1);
    await Bun.sleep(2500);
    await lock[Symbol.asyncDispose]();
    expect(await creating).toEqual(Array(20).fill({ kind: "created" }));
  }, 20_000);
});

describe("a very large plant", () => {
  test("is stored over a slow connection, while no other plant is refused", async () => {
    using proxy = await startTcpProxy(server.port, 2_000_000);
    const slowly = database.replace(`:${server.port}/`, `:${proxy.port}/`);
    await using running = await startTestService({ "max-body-bytes": "16000000" }, slowly);
    // Over this connection it takes four seconds, more than the limit of an ordinary statement.
    const large = post(running.url, JSON.stringify({ id: 1, name: "x".repeat(8_000_000) }));
    const small = Array.from({ length: 20 }, async (_, index) => {
      await Bun.sleep(index * 200);
      return (await post(running.url, JSON.stringify({ id: 10 + index, name: "small" }))).status;
    });
    expect(await Promise.all(small)).toEqual(Array(20).fill(200));
    const response = await large;
    expect([response.status, (await response.text()).length]).toEqual([200, 8_000_011]);
  }, 40_000);
});

describe("a database of the second version", () => {
  const indexes = () =>
    server.run<{ name: string; valid: boolean }>(
      `SELECT relname AS name, indisvalid AS valid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE indrelid = 'plants'::regclass ORDER BY relname`,
      database,
    );
  const upgraded = [
    { name: "plants_by_tag_prefix", valid: true },
    { name: "plants_by_time", valid: true },
    { name: "plants_pkey", valid: true },
  ];
  const version = async () =>
    (await server.run<{ version: number }>("SELECT version FROM plant_store_schema", database))[0]?.version;
  beforeEach(async () => {
    const folder = join(import.meta.dir, "../src/storage/postgres/migrations");
    for (const file of ["001-plants.sql", "002-tokens.sql"])
      await server.run(readFileSync(join(folder, file), "utf8"), database);
    await server.run(
      `CREATE TABLE plant_store_schema (one INT PRIMARY KEY CHECK (one = 1), version INT NOT NULL);
       INSERT INTO plant_store_schema VALUES (1, 2);
       INSERT INTO plants SELECT n, 'plant ' || n, 'tag ' || n % 10, n, 'old' FROM generate_series(1, 50000) n`,
      database,
    );
  });

  test("is upgraded once by nodes that start together, while others write to it", async () => {
    let writing = true;
    const writer = (async () => {
      let id = 1_000_000;
      while (writing)
        await server.run(`INSERT INTO plants VALUES (${id++}, 'meanwhile', NULL, 1, 'old')`, database);
      return id - 1_000_000;
    })();
    const stores = await Promise.all(Array.from({ length: 6 }, open));
    writing = false;
    const written = await writer;
    expect(await indexes()).toEqual(upgraded);
    expect(await version()).toBe(5);
    expect(await stores[0]?.archive.total()).toBe(50_000 + written);
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
  }, 30_000);

  test("is upgraded by the next start after an interrupted one left an invalid index", async () => {
    const statement = readFileSync(
      join(import.meta.dir, "../src/storage/postgres/migrations/004-tag-prefix.sql"),
      "utf8",
    );
    const build = /CREATE INDEX CONCURRENTLY[^;]+/.exec(statement)?.[0] ?? "";
    const blocked = server.run(
      "BEGIN; LOCK TABLE plants IN ROW EXCLUSIVE MODE; SELECT pg_sleep(60)",
      database,
    );
    const ended = blocked.catch(() => {});
    await eventually(async () => {
      const locks = await server.run("SELECT 1 FROM pg_locks WHERE relation = 'plants'::regclass", database);
      return locks.length > 0;
    });
    const building = server.run(build, database).catch((error: Error) => error.message);
    const end = (what: string) =>
      server.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '${what}%'`);
    await eventually(async () => (await indexes()).some(({ valid }) => !valid));
    await end("CREATE INDEX CONCURRENTLY");
    await end("BEGIN; LOCK");
    expect(await building).toContain("terminat");
    await ended;
    expect(await indexes()).toContainEqual({ name: "plants_by_tag_prefix", valid: false });
    await (await open())[Symbol.asyncDispose]();
    expect(await indexes()).toEqual(upgraded);
    expect(await version()).toBe(5);
  }, 30_000);

  test("is upgraded while the service listens, unready, however long it takes", async () => {
    const blocked = server.run(
      "BEGIN; LOCK TABLE plants IN ROW EXCLUSIVE MODE; SELECT pg_sleep(60)",
      database,
    );
    const ended = blocked.catch(() => {});
    await eventually(async () => {
      const locks = await server.run("SELECT 1 FROM pg_locks WHERE relation = 'plants'::regclass", database);
      return locks.length > 0;
    });
    await using running = await startTestService({}, database);
    expect((await fetch(`${running.url}/readyz`)).status).toBe(503);
    await eventually(() => running.logged.join("").includes("the index plants_by_tag_prefix is being built"));
    await server.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK%'",
    );
    await ended;
    await eventually(async () => (await fetch(`${running.url}/readyz`)).status === 200);
    expect(await indexes()).toEqual(upgraded);
  }, 30_000);

  test("is not upgraded by read and token commands", async () => {
    const listed = await runInProcess([
      "list",
      "--tag",
      "tag 3",
      "--limit",
      "2",
      "--json",
      "--database",
      database,
    ]);
    expect([listed.code, listed.err]).toEqual([0, expect.any(String)]);
    await server.run("INSERT INTO tokens VALUES ('d', 'i', 'earlier', 'operator', 1)", database);
    const tokens = await runInProcess(["token", "list", "--database", database]);
    expect([tokens.code, tokens.out]).toEqual([0, expect.stringContaining("earlier")]);
    for (const args of [["token", "create", "--name", "x"], ["token", "revoke", "earlier"], ["audit"]])
      expect(await runInProcess([...args, "--database", database])).toMatchObject({
        code: 1,
        err: expect.stringContaining("older plant-store: start the service on it once"),
      });
    expect(await version()).toBe(2);
  }, 20_000);
});
