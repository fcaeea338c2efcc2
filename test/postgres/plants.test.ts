// Plants on PostgreSQL: rows that the database rejects, several nodes on one database, and the tables.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import { beginningCursor, nowCursor, StaleCursor } from "../../src/plants/plant-archive.ts";
import { StoreUnavailable } from "../../src/plants/plant-store.ts";
import { allMigrations, migrate } from "../../src/storage/postgres/migrations/migrate.ts";
import { Server } from "../../src/storage/postgres/server.ts";
import type { Store } from "../../src/storage/store.ts";
import { eventually } from "../support/eventually.ts";
import { openStoreAt } from "../support/open-engine-store.ts";
import { operatorFetch } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { type Databases, openTransaction, usePostgres } from "../support/postgres.ts";
import { kindsOf, testPlants } from "../support/stored-plants.ts";
import { runInProcess } from "../support/terminal.ts";
import { startOpenService } from "../support/test-service.ts";
import { accessToken } from "../support/tokens.ts";

let server: Databases & AsyncDisposable;
/** With tables. Each test that uses it leaves them as they were, and may find plants in them. */
let database: string;
beforeAll(async () => {
  server = await usePostgres();
  database = await newTables();
});
afterAll(() => server[Symbol.asyncDispose]());

/** A database with empty tables. */
async function newTables(): Promise<string> {
  const url = await server.newDatabase();
  await close([await openStoreAt(url)]);
  return url;
}

// A server with this setting gets the statements for Citus, which PostgreSQL also accepts.
const likeCitus = "?options=-c%20citus.shard_count%3D8";
const close = (stores: readonly Store[]) => Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);

// How the row is found is in src/storage/postgres/postgres-plants.test.ts.
test("a plant that the database rejects gets 50001 and no reason, which is logged once, also of an import", async () => {
  const withoutWeeds = await newTables();
  await server.run("ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name <> 'weed')", withoutWeeds);
  // An import needs the scopes of both preset tokens.
  await using service = await startOpenService(withoutWeeds, { PLANT_STORE_OPERATOR_TOKEN: accessToken });
  const internalErrors = () => service.logged.filter((line) => line.includes('"internal error"'));
  const body = '{"id":1,"name":"weed"}';
  const response = await post(service.url, body);
  expect(response.status).toBe(500);
  const text = await response.text();
  expect(text).toContain('"error":50001');
  expect(text).not.toMatch(/weed|constraint|plants/i);
  const [line, ...others] = internalErrors();
  expect(line).toContain(response.headers.get("x-request-id") ?? "none");
  expect(line).toContain("no_weeds");
  expect(line).toContain("23514");
  expect(others).toEqual([]);

  const request = { method: "POST", token: accessToken, body: `${body}\n` };
  expect((await operatorFetch(service, "/api/imports", request)).status).toBe(200);
  expect(internalErrors()).toHaveLength(2);
});

test("the statements for Citus create, replay and refuse as those for PostgreSQL do", async () => {
  const own = await server.newDatabase();
  await using store = await openStoreAt(own + likeCitus);
  expect(kindsOf(await store.plants.create(testPlants(upTo(1000)), 1))).toEqual(Array(1000).fill("created"));
  const batch = [...testPlants([6]), ...testPlants([7], "rose"), ...testPlants([1000])];
  expect(await store.plants.create(batch, 2)).toEqual([
    { kind: "replayed" },
    { kind: "conflict", differing: ["name"] },
    { kind: "created" },
  ]);
  const last = (await server.stored(own)).at(-1);
  expect(last).toMatchObject({ id: 1000n, name: "fern", tag: null, created_by: "test" });
});

describe("several nodes on one database", () => {
  test("that start together on an empty one create the tables once", async () => {
    const empty = await server.newDatabase();
    await close(await Promise.all(upTo(6).map(() => openStoreAt(empty))));
    const rows = await server.run("SELECT one, version FROM plant_store_schema", empty);
    expect(rows).toEqual([{ one: 1, version: 7 }]);
  });

  test("store one of two plants that differ, and replay one of two that are the same", async () => {
    const own = await newTables();
    await using one = await startOpenService(own);
    await using other = await startOpenService(own);
    const send = (url: string, name: string, ids: readonly number[]) =>
      Promise.all(ids.map((id) => post(url, JSON.stringify({ id, name }))));
    /** Sends each node the plants at the same time, and returns both responses to each id. */
    async function race(ids: readonly number[], nameOnOne: string, nameOnOther: string) {
      // In opposite orders, so that batches conflict from both ends.
      const [ofOne, ofOther] = await Promise.all([
        send(one.url, nameOnOne, ids),
        send(other.url, nameOnOther, ids.toReversed()),
      ]);
      return ids.map((_, index) => [ofOne[index], ofOther.at(-1 - index)] as [Response, Response]);
    }

    const statuses = (await race(upTo(60), "one", "other")).map((both) => both.map(({ status }) => status));
    const expected = (await server.stored(own)).map(({ name }) => (name === "one" ? [200, 400] : [400, 200]));
    expect(expected).toHaveLength(60);
    expect(statuses).toEqual(expected);

    const same = upTo(60).map((id) => id + 100);
    const responses = await race(same, "same", "same");
    expect(responses.flat().map(({ status }) => status)).toEqual(Array(120).fill(200));
    const replays = responses.map(
      (both) => both.filter(({ headers }) => headers.has("idempotent-replayed")).length,
    );
    expect(replays).toEqual(Array(60).fill(1));
  });

  test("remove the rows of those that no longer exist", async () => {
    const own = await newTables();
    await using store = await openStoreAt(own);
    await server.run("INSERT INTO plant_store_nodes VALUES ('gone', 1)", own);
    await store.plants.probe();
    const rows = await server.run<{ node: string }>("SELECT node FROM plant_store_nodes", own);
    expect(rows).toEqual([{ node: expect.stringMatching(/^[0-9a-f-]{36}$/) }]);
  });

  test("are ready though another's probe hangs", async () => {
    await using one = await openStoreAt(database);
    await one.plants.probe();
    await using _locking = await openTransaction(database, "UPDATE plant_store_nodes SET seen_at_ms = 1");
    await using other = await openStoreAt(database);
    await other.plants.probe();
  });
});

describe("a trigger or a rule on plants", () => {
  const trigger = (when: string, how = "FOR EACH ROW") =>
    `CREATE TRIGGER own ${when} ON plants ${how} EXECUTE FUNCTION pass_on()`;
  let rewriting: string;
  beforeAll(async () => {
    rewriting = await newTables();
    const passOn = "LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'";
    await server.run(
      `CREATE FUNCTION pass_on() RETURNS trigger ${passOn}; CREATE TABLE other (a int)`,
      rewriting,
    );
  });
  const dropOwn = () =>
    server.run("DROP TRIGGER IF EXISTS own ON plants; DROP RULE IF EXISTS own ON plants", rewriting);

  test("that may change or drop a plant is a warning of doctor, and no other is", async () => {
    const rewritings: [sql: string, warnedOf?: string][] = [
      [trigger("BEFORE INSERT"), 'trigger "own"'],
      [trigger("BEFORE UPDATE OR INSERT"), 'trigger "own"'],
      ["CREATE RULE own AS ON INSERT TO plants DO ALSO NOTHING", 'rule "own"'],
      [trigger("AFTER INSERT")],
      [trigger("BEFORE INSERT", "")],
      [trigger("BEFORE UPDATE")],
      [`${trigger("BEFORE INSERT")}; ALTER TABLE plants DISABLE TRIGGER own`],
      [trigger("BEFORE INSERT").replace("ON plants", "ON other")],
    ];
    for (const [sql, warnedOf] of rewritings) {
      await dropOwn();
      await server.run(sql, rewriting);
      const { code, out } = await runInProcess(["doctor", "--json", "--database", rewriting]);
      expect(code).toBe(0);
      const advice = `The table plants has the ${warnedOf}, which may change or drop a plant`;
      const finding =
        warnedOf === undefined
          ? { check: "database", outcome: "ok" }
          : { check: "database", outcome: "warn", advice: expect.stringContaining(advice) };
      const message = expect.stringContaining("accepts writes and has the tables");
      expect(JSON.parse(out).findings).toContainEqual(expect.objectContaining({ ...finding, message }));
    }
  });

  test("that may change or drop a plant is a warning at the start", async () => {
    await dropOwn();
    await server.run(trigger("BEFORE INSERT"), rewriting);
    await using service = await startOpenService(rewriting);
    const warnings = service.logged.filter((line) => line.includes("may change or drop a plant"));
    expect(warnings).toHaveLength(1);
    expect(JSON.parse(warnings[0] ?? "")).toMatchObject({
      level: "warn",
      "plant_store.triggers": 'trigger "own"',
    });
  });

  // As docs/operating.md says.
  test("that changes a name makes a retry a conflict, and one that drops a row fails its batch", async () => {
    const own = await newTables();
    const before = (name: string, id: number, body: string) =>
      `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN ${body}; END';
       CREATE TRIGGER ${name} BEFORE INSERT ON plants FOR EACH ROW WHEN (NEW.id = ${id}) EXECUTE FUNCTION ${name}()`;
    await server.run(before("shout", 1, "NEW.name := upper(NEW.name); RETURN NEW"), own);
    await server.run(before("lose", 2, "RETURN NULL"), own);
    await using store = await openStoreAt(own);
    expect(kindsOf(await store.plants.create(testPlants([1]), 1))).toEqual(["created"]);
    expect(kindsOf(await store.plants.create(testPlants([1]), 1))).toEqual(["conflict"]);
    await expect(store.plants.create(testPlants([2, 3]), 1)).rejects.toThrow(StoreUnavailable);
  });
});

test("a search that has no time left returns after one plant", async () => {
  await using store = await openStoreAt(database);
  await store.plants.create(testPlants([1, 2, 3], "fern"), Date.now());
  const request = { order: "oldest-first", cursor: undefined, limit: 10, searchMsMax: 0 } as const;
  const page = await store.archive.page({ ...request, filter: { namePart: "oak" } });
  expect(page.searched).toBe(1);
  expect(page.next).toBeString();
});

describe("a client that follows the store", () => {
  const request = { filter: {}, limit: 1000, searchMsMax: 5000 };

  /** Follows the store from this cursor until everything is there that was stored before. Returns the ids. */
  async function follow(store: Store, after = beginningCursor): Promise<{ ids: number[]; next: string }> {
    const ids: number[] = [];
    let next = after;
    let untilMs: number | undefined;
    await eventually(async () => {
      const page = await store.archive.pageAfter({ ...request, after: next });
      next = page.next;
      untilMs ??= page.nowMs;
      ids.push(...page.plants.map(({ id }) => Number(id)));
      return (page.completeToMs ?? 0) > untilMs;
    });
    return { ids, next };
  }

  test("waits for what another session commits late, and gets it in its order", async () => {
    const url = await newTables();
    await using store = await openStoreAt(url);
    await store.plants.create(testPlants([1], "before"), Date.now());
    const first = await follow(store);
    expect(first.ids).toEqual([1]);
    // As a node stores it: the transaction has its id before the plant has its time.
    await using late = await openTransaction(
      url,
      `INSERT INTO plants SELECT 2, 'late', NULL, CASE WHEN pg_current_xact_id() > '0'::xid8
         THEN floor(date_part('epoch', clock_timestamp()) * 1000)::bigint END, 't'`,
    );
    await store.plants.create(testPlants([3, 4], "later"), Date.now());
    let waiting = await store.archive.pageAfter({ ...request, after: first.next });
    // Nobody is told about the first two seconds.
    while (waiting.waitingSinceMs === undefined) {
      expect(waiting.plants).toEqual([]);
      await sleep(200);
      waiting = await store.archive.pageAfter({ ...request, after: waiting.next });
    }
    const { waitingSinceMs } = waiting;
    expect(waiting.completeToMs).toBe(waitingSinceMs);
    expect(store.archive.followersWaitSinceMs?.()).toBe(waitingSinceMs);
    await late.commit();
    expect((await follow(store, waiting.next)).ids).toEqual([2, 3, 4]);
  });

  test("may change nodes at any page", async () => {
    const url = await newTables();
    await using one = await openStoreAt(url);
    await using other = await openStoreAt(url);
    await one.plants.create(testPlants([1, 2], "a"), Date.now());
    const first = await follow(one);
    expect(first.ids).toEqual([1, 2]);
    const page = await other.archive.pageAfter({ ...request, after: first.next });
    expect(page.plants).toEqual([]);
    await other.plants.create(testPlants([3], "b"), Date.now());
    expect((await follow(other, page.next)).ids).toEqual([3]);
  });

  test("gets no plant twice from a node that is behind its cursor", async () => {
    await using store = await openStoreAt(await newTables());
    await store.plants.create(testPlants([1], "a"), Date.now());
    await follow(store);
    await store.plants.create(testPlants([2, 3], "b"), Date.now());
    // The list has every plant at once, as a node has that is ahead.
    const newest = {
      filter: {},
      order: "newest-first",
      cursor: undefined,
      limit: 1,
      searchMsMax: 0,
    } as const;
    const { next: after } = await store.archive.page(newest);
    const page = await store.archive.pageAfter({ ...request, after: after ?? "" });
    expect(page.plants).toEqual([]);
    await store.plants.create(testPlants([4], "c"), Date.now());
    expect((await follow(store, page.next)).ids).toEqual([4]);
  });

  test("is refused with the cursor of a plant that is not there with that time", async () => {
    const url = await newTables();
    await using store = await openStoreAt(url);
    await store.plants.create(testPlants([1], "a"), Date.now());
    await follow(store);
    const [plant] = (await store.archive.pageAfter({ ...request, after: beginningCursor })).plants;
    await server.run("UPDATE plants SET created_at_ms = created_at_ms + 1", url);
    const following = store.archive.pageAfter({ ...request, after: plant?.cursor ?? "" });
    await expect(following).rejects.toThrow(StaleCursor);
  });

  test("is refused on Citus, with the reason", async () => {
    await using store = await openStoreAt(`${await newTables()}${likeCitus}`);
    for (const after of [beginningCursor, nowCursor])
      await expect(store.archive.pageAfter({ ...request, after })).rejects.toThrow("not supported on Citus");
  });
});

describe("the tables", () => {
  const version = async (url: string) =>
    (await server.run<{ version: number }>("SELECT version FROM plant_store_schema", url))[0]?.version;
  const tables = (url: string) =>
    server.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", url);
  const run = (url: string, command: string) => runInProcess([...command.split(" "), "--database", url]);
  const early = {
    code: 1,
    out: "",
    err: "plant-store: The database was set up before plant-store 1.0.0: export its plants with the version that wrote it, and import them into a new database.\n",
  };

  test("of a database from before 1.0.0 are refused by every command, unchanged", async () => {
    const old = await server.newDatabase();
    await server.run("CREATE TABLE plant_store_schema AS SELECT 1 AS one, 5 AS version", old);
    for (const command of ["list", "token create --name x", "serve"])
      expect(await run(old, command)).toEqual(early);
    expect(await tables(old)).toEqual([{ tablename: "plant_store_schema" }]);
    expect(await version(old)).toBe(5);
  });

  test.each([
    [
      "without a column",
      "ALTER TABLE tokens DROP COLUMN last_used_at_ms",
      "The table tokens of the database has no column last_used_at_ms bigint: it was altered.",
    ],
    [
      "with a column of another type",
      "ALTER TABLE plants ALTER COLUMN tag TYPE VARCHAR(20)",
      "no column tag text",
    ],
    ["without one of them", "DROP TABLE plant_store_nodes", "no column node text"],
    ["of a newer version", "UPDATE plant_store_schema SET version = 999", "newer plant-store"],
    [
      "of another application",
      "DROP TABLE plant_store_schema, tokens, plants; CREATE TABLE plants (leaf text)",
      'relation "plants" already exists',
    ],
  ])("%s are refused", async (_, sql, says) => {
    const changed = await newTables();
    await server.run(sql, changed);
    const { code, err } = await run(changed, "serve");
    expect(code).toBe(1);
    expect(err).toContain(says);
  });

  test("of 1.2.1, which are the same under an older number, are taken over", async () => {
    const old = await newTables();
    await server.run("UPDATE plant_store_schema SET version = 6", old);
    expect(await run(old, "list")).toMatchObject({ code: 1 });
    await using store = await openStoreAt(old);
    expect(kindsOf(await store.plants.create(testPlants([1]), 1))).toEqual(["created"]);
    expect(await version(old)).toBe(7);
  });

  test("may have a column of the operator's own", async () => {
    const own = await newTables();
    await server.run("ALTER TABLE plants ADD COLUMN colour TEXT", own);
    await using store = await openStoreAt(own);
    expect(kindsOf(await store.plants.create(testPlants([1]), 1))).toEqual(["created"]);
  });

  test("are created by token create, but not by a command that reads or changes what is there", async () => {
    const empty = await server.newDatabase();
    for (const command of ["list", "export", "token list", "token revoke x", "audit"]) {
      const { code, err } = await run(empty, command);
      expect(code).toBe(1);
      expect(err).toBe(
        "plant-store: The database has no plant-store tables yet: start the service on it once.\n",
      );
    }
    expect(await tables(empty)).toEqual([]);
    expect((await run(empty, "token create --name x")).code).toBe(0);
    expect(await version(empty)).toBe(7);
  });

  test("are not upgraded by a command that only reads or creates tables", async () => {
    const later = [...allMigrations, { number: 8, sql: "", columns: {} }];
    const options = { databasePassword: undefined, allowUnsafeDatabase: false };
    for (const changes of ["none", "create"] as const) {
      const connection = await new Server(database, options).open();
      await expect(migrate(connection, changes, later)).rejects.toThrow(
        "was set up by an older plant-store: start the service on it once",
      );
      connection.destroy();
    }
  });
});
