// Plants on PostgreSQL: rows that the database rejects, and several nodes on one database.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { beginningCursor, type PlantFilter } from "../../src/plants/plant-archive.ts";
import { StoreUnavailable } from "../../src/plants/plant-store.ts";
import { allMigrations, migrate } from "../../src/storage/postgres/migrations/migrate.ts";
import { Server } from "../../src/storage/postgres/server.ts";
import type { Store } from "../../src/storage/store.ts";
import { minuteMs } from "../../src/text/duration.ts";
import { openStoreAt } from "../support/open-engine-store.ts";
import { operatorFetch } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { type Databases, openTransaction, usePostgres } from "../support/postgres.ts";
import { kindsOf, testPlants } from "../support/stored-plants.ts";
import { runInProcess } from "../support/terminal.ts";
import { startOpenService } from "../support/test-service.ts";
import { accessToken } from "../support/tokens.ts";

let server: Databases & AsyncDisposable;
let database: string;
beforeAll(async () => {
  server = await usePostgres();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(async () => {
  database = await server.newDatabase();
});

const open = (url = database) => openStoreAt(url);
// A server with this setting gets the statements for Citus, which PostgreSQL also accepts.
const likeCitus = "?options=-c%20citus.shard_count%3D8";
const close = (stores: readonly Store[]) => Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);
const createTables = async () => close([await open()]);

// How the row is found, and what happens if there is no time for it, is in src/storage/postgres/postgres-plants.test.ts.
describe("a plant that the database rejects", () => {
  async function startWithoutWeeds() {
    await using cleanUp = new AsyncDisposableStack();
    // An import needs the scopes of both preset tokens.
    const service = cleanUp.use(
      await startOpenService(database, { PLANT_STORE_OPERATOR_TOKEN: accessToken }),
    );
    await server.run("ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name <> 'weed')", database);
    cleanUp.move();
    return service;
  }

  test("gets 50001 and no reason", async () => {
    await using service = await startWithoutWeeds();
    const response = await post(service.url, '{"id":1,"name":"weed"}');
    expect(response.status).toBe(500);
    const text = await response.text();
    expect(text).toContain('"error":50001');
    expect(text).not.toMatch(/weed|constraint|plants/i);
  });

  test("is logged once, under its request id, with the reason", async () => {
    await using service = await startWithoutWeeds();
    const response = await post(service.url, '{"id":1,"name":"weed"}');
    const lines = service.logged.filter((line) => line.includes('"internal error"'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(response.headers.get("x-request-id") ?? "none");
    expect(lines[0]).toContain("no_weeds");
    expect(lines[0]).toContain("23514");
  });

  test("leaves the others in its batch to be stored", async () => {
    await using service = await startWithoutWeeds();
    const bodies = upTo(60).map((id) => ({ id, name: id % 20 === 7 ? "weed" : `plant ${id}` }));
    const responses = await Promise.all(bodies.map((body) => post(service.url, JSON.stringify(body))));
    const statuses = responses.map(({ status }) => status);
    expect(statuses).toEqual(bodies.map(({ name }) => (name === "weed" ? 500 : 200)));
    expect(await server.stored(database)).toHaveLength(57);
  });

  test("is logged if it is in an import", async () => {
    await using service = await startWithoutWeeds();
    const imported = await operatorFetch(service, "/api/imports", {
      method: "POST",
      token: accessToken,
      body: '{"id":1000,"name":"weed"}\n',
    });
    expect(imported.status).toBe(200);
    expect(service.logged.filter((line) => line.includes('"internal error"'))).toHaveLength(1);
  });
});

test("the statements for Citus create, replay and refuse as those for PostgreSQL do", async () => {
  await using store = await open(database + likeCitus);
  expect(kindsOf(await store.plants.create(testPlants(upTo(1000)), 1))).toEqual(Array(1000).fill("created"));
  const batch = [...testPlants([6]), ...testPlants([7], "rose"), ...testPlants([1000])];
  expect(await store.plants.create(batch, 2)).toEqual([
    { kind: "replayed" },
    { kind: "conflict", differing: ["name"] },
    { kind: "created" },
  ]);
  const last = (await server.stored(database)).at(-1);
  expect(last).toMatchObject({ id: 1000n, name: "fern", tag: null, created_by: "test" });
});

describe("several nodes on one database", () => {
  test("that start together on an empty one create the tables once", async () => {
    await close(await Promise.all(upTo(6).map(() => open())));
    const rows = await server.run("SELECT one, version FROM plant_store_schema", database);
    expect(rows).toEqual([{ one: 1, version: 6 }]);
  });

  describe("that are sent plants at the same time", () => {
    /** Sends each node 60 plants with the same ids, and returns both responses to each id. */
    async function race(nameOnOne: string, nameOnOther: string) {
      await using one = await startOpenService(database);
      await using other = await startOpenService(database);
      const send = (url: string, name: string, ids: readonly number[]) =>
        Promise.all(ids.map((id) => post(url, JSON.stringify({ id, name }))));
      // In opposite orders, so that batches conflict from both ends.
      const [ofOne, ofOther] = await Promise.all([
        send(one.url, nameOnOne, upTo(60)),
        send(other.url, nameOnOther, upTo(60).toReversed()),
      ]);
      return { ofOne, ofOther: ofOther.toReversed() };
    }

    test("store one of two that differ", async () => {
      const { ofOne, ofOther } = await race("one", "other");
      const statuses = upTo(60).map((id) => ({ one: ofOne[id]?.status, other: ofOther[id]?.status }));
      const expected = (await server.stored(database)).map(({ name }) =>
        name === "one" ? { one: 200, other: 400 } : { one: 400, other: 200 },
      );
      expect(expected).toHaveLength(60);
      expect(statuses).toEqual(expected);
    });

    test("replay one of two that are the same", async () => {
      const { ofOne, ofOther } = await race("same", "same");
      const isReplayed = (response?: Response) => response?.headers.has("idempotent-replayed");
      expect([...ofOne, ...ofOther].map(({ status }) => status)).toEqual(Array(120).fill(200));
      const replays = upTo(60).map((id) => [ofOne[id], ofOther[id]].filter(isReplayed).length);
      expect(replays).toEqual(Array(60).fill(1));
    });
  });

  test("remove the rows of those that no longer exist", async () => {
    await using store = await open();
    await server.run("INSERT INTO plant_store_nodes VALUES ('gone', 1)", database);
    await store.plants.probe();
    const rows = await server.run<{ node: string }>("SELECT node FROM plant_store_nodes", database);
    expect(rows).toEqual([{ node: expect.stringMatching(/^[0-9a-f-]{36}$/) }]);
  });

  test("are ready though another's probe hangs", async () => {
    await using one = await open();
    await one.plants.probe();
    await using _locking = await openTransaction(database, "UPDATE plant_store_nodes SET seen_at_ms = 1");
    await using other = await open();
    await other.plants.probe();
  });
});

const passOn = "CREATE FUNCTION pass_on() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'";

describe.each([
  [
    "a BEFORE INSERT row trigger",
    "CREATE TRIGGER own BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION pass_on()",
    'trigger "own"',
  ],
  [
    "one for UPDATE too",
    "CREATE TRIGGER own BEFORE UPDATE OR INSERT ON plants FOR EACH ROW EXECUTE FUNCTION pass_on()",
    'trigger "own"',
  ],
  ["a rule", "CREATE RULE own AS ON INSERT TO plants DO ALSO NOTHING", 'rule "own"'],
])("%s on plants", (_, sql, name) => {
  beforeEach(async () => {
    await createTables();
    await server.run(`${passOn}; ${sql}`, database);
  });

  test("is a warning at the start", async () => {
    await using service = await startOpenService(database);
    const warnings = service.logged.filter((line) => line.includes("may change or drop a plant"));
    expect(warnings).toHaveLength(1);
    expect(JSON.parse(warnings[0] ?? "")).toMatchObject({ level: "warn", "plant_store.triggers": name });
  });

  test("is a warning of doctor", async () => {
    const { code, out } = await runInProcess(["doctor", "--json", "--database", database]);
    expect(code).toBe(0);
    expect(JSON.parse(out).findings).toContainEqual({
      check: "database",
      outcome: "warn",
      message: expect.stringContaining("accepts writes and has the tables"),
      advice: expect.stringContaining(`The table plants has the ${name}, which may change or drop a plant`),
    });
  });
});

test.each([
  [
    "an AFTER INSERT trigger",
    "CREATE TRIGGER own AFTER INSERT ON plants FOR EACH ROW EXECUTE FUNCTION pass_on()",
  ],
  ["a trigger for each statement", "CREATE TRIGGER own BEFORE INSERT ON plants EXECUTE FUNCTION pass_on()"],
  [
    "a trigger for UPDATE alone",
    "CREATE TRIGGER own BEFORE UPDATE ON plants FOR EACH ROW EXECUTE FUNCTION pass_on()",
  ],
  [
    "a disabled trigger",
    "CREATE TRIGGER own BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION pass_on(); ALTER TABLE plants DISABLE TRIGGER own",
  ],
  [
    "a trigger of another table",
    "CREATE TABLE other (a int); CREATE TRIGGER own BEFORE INSERT ON other FOR EACH ROW EXECUTE FUNCTION pass_on()",
  ],
])("%s is no warning", async (_, sql) => {
  await createTables();
  await server.run(`${passOn}; ${sql}`, database);
  const { out } = await runInProcess(["doctor", "--json", "--database", database]);
  expect(JSON.parse(out).findings).toContainEqual(
    expect.objectContaining({ check: "database", outcome: "ok" }),
  );
});

// As docs/operating.md says.
test("a trigger that changes a name makes the retry of its plant a conflict", async () => {
  await createTables();
  const shout = "BEGIN NEW.name := upper(NEW.name); RETURN NEW; END";
  await server.run(
    `CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS '${shout}';
     CREATE TRIGGER shout BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION shout()`,
    database,
  );
  await using store = await open();
  expect(kindsOf(await store.plants.create(testPlants([1]), 1))).toEqual(["created"]);
  expect(kindsOf(await store.plants.create(testPlants([1]), 1))).toEqual(["conflict"]);
});

test("a trigger that drops a row fails its whole batch", async () => {
  await createTables();
  await server.run(
    `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
     CREATE TRIGGER lose BEFORE INSERT ON plants FOR EACH ROW WHEN (NEW.id = 2) EXECUTE FUNCTION lose()`,
    database,
  );
  await using store = await open();
  await expect(store.plants.create(testPlants([1, 2, 3]), 1)).rejects.toThrow(StoreUnavailable);
});

test("a search that has no time left returns after one plant", async () => {
  await using store = await open();
  await store.plants.create(testPlants([1, 2, 3], "fern"), Date.now());
  const request = { order: "oldest-first", cursor: undefined, limit: 10, searchMsMax: 0 } as const;
  const page = await store.archive.page({ ...request, filter: { namePart: "oak" } });
  expect(page.searched).toBe(1);
  expect(page.next).toBeString();
});

describe("a client that follows the store", () => {
  const insert = (id: number, name: string, atMs: number) =>
    `INSERT INTO plants (id, name, tag, created_at_ms, created_by) VALUES (${id}, '${name}', 'tree', ${atMs}, 't')`;
  const after = async (store: Store, cursor: string, filter: PlantFilter = {}, limit = 100) => {
    const request = { after: cursor, filter, limit, searchMsMax: 5000 };
    const { plants, next, newest } = await store.archive.pageAfter(request);
    return { ids: plants.map(({ id }) => Number(id)), next, newest };
  };

  test.each<[what: string, filter: PlantFilter]>([
    ["without a filter", {}],
    ["with a tag", { tag: "tree" }],
    ["with a part of the name", { namePart: "late" }],
  ])("does not miss what another node commits late, %s", async (_, filter) => {
    await using store = await open();
    const start = await after(store, beginningCursor);
    await using other = await openTransaction(database, insert(1, "late", Date.now()));
    await store.plants.create(testPlants([2, 3, 4], "later"), Date.now());
    const before = await after(store, start.next, filter);
    expect(before.ids).not.toContain(1);
    await other.commit();
    expect((await after(store, before.next, filter)).ids).toContain(1);
  });

  test("gets plants again until they are seven seconds old", async () => {
    await using store = await open();
    const nowMs = Date.now();
    await server.run(insert(1, "settled", nowMs - minuteMs), database);
    await server.run(insert(2, "newer", nowMs + 10 * minuteMs), database);
    const first = await after(store, beginningCursor);
    expect(first.ids).toEqual([1, 2]);
    expect(first.next).toBe(first.newest);
    expect((await after(store, first.next)).ids).toEqual([2]);
  });

  test("gets each of two plants of the same time once", async () => {
    await using store = await open();
    const settledMs = Date.now() - minuteMs;
    await server.run(insert(1, "settled", settledMs), database);
    await server.run(insert(2, "settled, at the same time", settledMs), database);
    await server.run(insert(3, "newer", settledMs + 10 * minuteMs), database);
    const first = await after(store, beginningCursor, {}, 1);
    const second = await after(store, first.next, {}, 1);
    const third = await after(store, second.next);
    expect(first.ids).toEqual([1]);
    expect(second.ids).toEqual([2]);
    expect(third.ids).toEqual([3]);
  });

  // Such as that of a server whose clock was ahead.
  test("with a cursor of a later time gets one of the past", async () => {
    await using store = await open();
    const nowMs = Date.now();
    await server.run(insert(1, "newer", nowMs + 10 * minuteMs), database);
    const ahead = await after(store, `${nowMs + 15 * minuteMs}.0`);
    expect(ahead.ids).toEqual([]);
    expect(ahead.next).toBe(ahead.newest);
    expect((await after(store, ahead.next)).ids).toEqual([1]);
  });
});

describe("the tables", () => {
  const version = async () =>
    (await server.run<{ version: number }>("SELECT version FROM plant_store_schema", database))[0]?.version;
  const tables = () => server.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", database);
  const run = (...command: string[]) => runInProcess([...command, "--database", database]);
  const early = {
    code: 1,
    out: "",
    err: "plant-store: The database was set up before plant-store 1.0.0: export its plants with the version that wrote it, and import them into a new database.\n",
  };

  test.each(["list", "token create --name x", "serve"])(
    "of a database from before 1.0.0 are refused by %s, unchanged",
    async (line) => {
      await server.run("CREATE TABLE plant_store_schema AS SELECT 1 AS one, 5 AS version", database);
      expect(await run(...line.split(" "))).toEqual(early);
      expect(await tables()).toEqual([{ tablename: "plant_store_schema" }]);
      expect(await version()).toBe(5);
    },
  );

  test.each([
    ["without a column", "ALTER TABLE tokens DROP COLUMN last_used_at_ms"],
    ["with a column of another type", "ALTER TABLE plants ALTER COLUMN tag TYPE VARCHAR(20)"],
    ["without one of them", "DROP TABLE plant_store_nodes"],
  ])("%s are refused", async (_, sql) => {
    await createTables();
    await server.run(sql, database);
    expect(await run("list")).toEqual(early);
  });

  test("of another application are refused", async () => {
    await server.run("CREATE TABLE plants (leaf text)", database);
    const { code, err } = await run("serve");
    expect(code).toBe(1);
    expect(err).toContain('relation "plants" already exists');
  });

  test("of a newer version are refused", async () => {
    await createTables();
    await server.run("UPDATE plant_store_schema SET version = 999", database);
    const { code, err } = await run("serve");
    expect(code).toBe(1);
    expect(err).toContain("newer plant-store");
  });

  test("may have a column of the operator's own", async () => {
    await createTables();
    await server.run("ALTER TABLE plants ADD COLUMN colour TEXT", database);
    await using store = await open();
    expect(kindsOf(await store.plants.create(testPlants([1]), 1))).toEqual(["created"]);
  });

  test.each(["list", "export", "token list", "token revoke x", "audit"])(
    "are not created by %s",
    async (line) => {
      const { code, err } = await run(...line.split(" "));
      expect(code).toBe(1);
      expect(err).toBe(
        "plant-store: The database has no plant-store tables yet: start the service on it once.\n",
      );
      expect(await tables()).toEqual([]);
    },
  );

  test("are created by token create", async () => {
    expect((await run("token", "create", "--name", "x")).code).toBe(0);
    expect(await version()).toBe(6);
  });

  test.each([
    ["only reads", "none"],
    ["creates tables", "create"],
  ] as const)("are not upgraded by a command that %s", async (_, changes) => {
    await createTables();
    const later = [...allMigrations, { number: 7, sql: "", columns: {} }];
    const options = { databasePassword: undefined, allowUnsafeDatabase: false };
    const connection = await new Server(database, options).open();
    await expect(migrate(connection, changes, later)).rejects.toThrow(
      "was set up by an older plant-store: start the service on it once",
    );
    connection.destroy();
  });
});
