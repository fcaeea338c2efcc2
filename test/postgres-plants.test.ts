import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import pg from "pg";
import { openStore } from "../src/storage/open-store.ts";
import type { Connection } from "../src/storage/postgres/connection.ts";
import { Server } from "../src/storage/postgres/connection.ts";
import { migrate, migrations } from "../src/storage/postgres/prepare.ts";
import { accessToken, kindsOf, post, startTestService, temporaryFolder } from "./harness.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";
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

const options = { databasePassword: undefined, allowUnsafeDatabase: false };
const open = () => openStore({ ...options, database });
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

  test("is distinguished from a short lock on the table, for which the entire batch waits", async () => {
    await using store = await open();
    const lock = await openTransaction("LOCK TABLE plants IN SHARE MODE");
    const creating = store.plants.create(arrivals(upTo(20)), 1);
    await Bun.sleep(1000);
    await lock[Symbol.asyncDispose]();
    expect(await creating).toEqual(Array(20).fill({ kind: "created" }));
  }, 20_000);
});

describe("the tables", () => {
  const version = async () =>
    (await server.run<{ version: number }>("SELECT version FROM plant_store_schema", database))[0]?.version;
  const columns = () =>
    server.run(
      `SELECT table_name, column_name, data_type FROM information_schema.columns
        WHERE table_schema = 'public' ORDER BY table_name, ordinal_position`,
      database,
    );
  const connect = () => new Server(database, options).open();
  const early = {
    code: 1,
    err: "plant-store: The database was set up before plant-store 1.0.0: export its plants with the version that wrote it, and import them into a new database.\n",
  };
  const schema = (number: number) =>
    `CREATE TABLE plant_store_schema (one INT PRIMARY KEY CHECK (one = 1), version INT NOT NULL);
     INSERT INTO plant_store_schema VALUES (1, ${number})`;
  const commands = [
    ["list"],
    ["token", "list"],
    ["token", "create", "--name", "x"],
    ["audit"],
    ["serve", "--listen", "127.0.0.1:0", "--operator-listen", "off"],
  ];

  for (const number of [1, 2, 3, 4, 5, 6]) {
    test(`of a database with the number ${number} from before 1.0.0 are refused in one sentence, unchanged`, async () => {
      await server.run(
        `${schema(number)};
         CREATE TABLE plants (id BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, tag TEXT,
           created_at_ms BIGINT NOT NULL, created_by TEXT NOT NULL);
         CREATE TABLE tokens (digest TEXT NOT NULL PRIMARY KEY, id TEXT NOT NULL, name TEXT NOT NULL,
           scopes TEXT NOT NULL, created_at_ms BIGINT NOT NULL, expires_at_ms BIGINT, revoked_at_ms BIGINT)`,
        database,
      );
      const before = await columns();
      for (const command of commands)
        expect(await runInProcess([...command, "--database", database])).toMatchObject(early);
      expect(await columns()).toEqual(before);
      expect(await version()).toBe(number);
    }, 20_000);
  }

  for (const sql of [
    "ALTER TABLE plants ALTER COLUMN tag TYPE VARCHAR(20)",
    "ALTER TABLE tokens DROP COLUMN rate_limit",
    "DROP TABLE plant_store_nodes",
  ])
    test(`are refused after ${sql}`, async () => {
      await (await open())[Symbol.asyncDispose]();
      await server.run(sql, database);
      expect(await runInProcess(["list", "--database", database])).toMatchObject(early);
    }, 20_000);

  test("may have an index, a column and a trigger of the operator's own", async () => {
    await (await open())[Symbol.asyncDispose]();
    await server.run(
      `CREATE INDEX by_sender ON plants (created_by);
       ALTER TABLE plants ADD COLUMN letters INT GENERATED ALWAYS AS (length(name)) STORED;
       CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
       CREATE TRIGGER pass BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION pass()`,
      database,
    );
    await using store = await open();
    expect(kindsOf(await store.plants.create(arrivals([1]), 1))).toEqual(["created"]);
  }, 20_000);

  test("are created by no command that only reads", async () => {
    for (const command of [["list"], ["export"], ["token", "list"], ["token", "revoke", "x"], ["audit"]])
      expect(await runInProcess([...command, "--database", database])).toMatchObject({
        code: 1,
        err: "plant-store: The database has no plant-store tables yet: start the service on it once.\n",
      });
    expect(await columns()).toEqual([]);
    expect((await runInProcess(["token", "create", "--name", "x", "--database", database])).code).toBe(0);
    expect(await version()).toBe(6);
  }, 20_000);

  test("are upgraded by a later migration, once for nodes that start together, and by no command that reads", async () => {
    await using store = await open();
    await store.plants.create(arrivals(upTo(100)), 1);
    const later = [
      ...migrations,
      {
        number: 7,
        sql: "ALTER TABLE plants ADD COLUMN colour TEXT",
        columns: { plants: "id bigint, colour text" },
      },
    ];
    const nodes = await Promise.all(Array.from({ length: 6 }, connect));
    for (const changes of ["none", "create"] as const)
      expect(await failureOf(migrate(nodes[0] as Connection, changes, later))).toContain(
        "was set up by an older plant-store: start the service on it once",
      );
    const results = await Promise.allSettled(nodes.map((node) => migrate(node, "upgrade", later)));
    expect(results.map(({ status }) => status)).toContain("fulfilled");
    for (const result of results)
      if (result.status === "rejected") expect(result.reason.message).toContain("another process");
    expect(await version()).toBe(7);
    expect(await store.archive.total()).toBe(100);
    for (const node of nodes) node.destroy();
    const late = await connect();
    await migrate(late, "none", later);
    expect(await failureOf(migrate(late, "upgrade"))).toContain("was set up by a newer plant-store");
    late.destroy();
  }, 20_000);
});

function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "no failure",
    (error: Error) => error.message,
  );
}
