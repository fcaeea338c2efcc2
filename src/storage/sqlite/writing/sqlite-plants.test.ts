import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { post } from "../../../../test/support/post-plants.ts";
import { testPlant } from "../../../../test/support/stored-plants.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { startTestService } from "../../../../test/support/test-service.ts";
import {
  type Outcome,
  OutcomeUnknown,
  type PlantToStore,
  StoreUnavailable,
} from "../../../plants/plant-store.ts";
import { openForWriting } from "../opening/open-for-writing.ts";
import { SqliteStore } from "../sqlite-store.ts";
import { SqlitePlants } from "./sqlite-plants.ts";
import { Writer } from "./writer.ts";

const failed = (reason: string): Outcome => ({ kind: "failed", reason: expect.stringContaining(reason) });

function runBeside(file: string, sql: string): void {
  using database = new Database(file);
  database.run(sql);
}

// Each accepts the name `"first"` and rejects the name `"second"`.
test.each([
  [
    "a unique index",
    "CREATE UNIQUE INDEX own ON plants (length(name)) WHERE name <> '\"first\"'",
    "UNIQUE constraint failed: index 'own' (SQLITE_CONSTRAINT_UNIQUE)",
  ],
  [
    "an expression index",
    "CREATE INDEX own ON plants (CASE name WHEN '\"second\"' THEN json('{') END)",
    "malformed JSON (SQLITE_ERROR)",
  ],
  [
    "an index on a value that is too long",
    "CREATE INDEX own ON plants (CASE name WHEN '\"second\"' THEN zeroblob(2147483647) END)",
    "string or blob too big (SQLITE_TOOBIG)",
  ],
  [
    "a trigger with a value of another type",
    "CREATE TRIGGER own AFTER INSERT ON plants WHEN NEW.name = '\"second\"' BEGIN INSERT INTO block_names (block) VALUES (NEW.name); END",
    "datatype mismatch (SQLITE_MISMATCH)",
  ],
])("a plant that %s of the operator's own rejects fails alone", async (_, sql, reason) => {
  using folder = temporaryFolder();
  const file = join(folder.path, "plants.db");
  await using store = new SqliteStore(file);
  await store.plants.create([testPlant(1, '"eighth"')], 1);
  runBeside(file, sql);
  const batch = [testPlant(2, '"first"'), testPlant(3, '"second"'), testPlant(4, '"third"')];
  const outcomes = await store.plants.create(batch, 1);
  expect(outcomes).toEqual([
    { kind: "created" },
    failed(`Plant 3 was rejected by an index or a trigger that is not plant-store's: ${reason}`),
    { kind: "created" },
  ]);
  const ids = (await store.archive.findAll([1n, 2n, 3n, 4n])).map(({ id }) => id);
  expect(ids).toEqual([1n, 2n, 4n]);
});

test("a plant that is stored is a replay, even if a trigger would reject it now", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "plants.db");
  await using store = new SqliteStore(file);
  await store.plants.create([testPlant(1, "Fern")], 1);
  runBeside(
    file,
    "CREATE TRIGGER own BEFORE INSERT ON plants BEGIN SELECT RAISE(ABORT, 'no more plants'); END",
  );
  expect(await store.plants.create([testPlant(1, "Fern"), testPlant(1, "Oak")], 1)).toEqual([
    { kind: "replayed" },
    { kind: "conflict", differing: ["name"] },
  ]);
});

test("a service answers 50001 for a plant that an index rejects, names it in the log, and stores others", async () => {
  await using running = await startTestService();
  expect((await post(running.url, '{"id":1,"name":"Fern"}')).status).toBe(200);
  runBeside(running.database, "CREATE UNIQUE INDEX own ON plants (name)");
  const rejected = await post(running.url, '{"id":2,"name":"Fern"}');
  expect(await rejected.json()).toMatchObject({ error: 50001 });
  const logged = running.logged.filter((line) => line.includes('"internal error"'));
  expect(logged).toHaveLength(1);
  expect(JSON.parse(logged[0] ?? "")).toMatchObject({
    "exception.message":
      "Plant 2 was rejected by an index or a trigger that is not plant-store's: UNIQUE constraint failed: plants.name (SQLITE_CONSTRAINT_UNIQUE).",
  });
  expect((await post(running.url, '{"id":3,"name":"Oak"}')).status).toBe(200);
});

/** Plants in a new data file, after this has been done to it. */
function openPlants(prepare: (database: Database) => void) {
  const folder = temporaryFolder();
  const file = openForWriting(join(folder.path, "plants.db"));
  const { database } = file;
  prepare(database);
  const writer = new Writer(database, { afterCommit: () => {}, reportUnknown: (reason) => reason });
  return {
    database,
    plants: new SqlitePlants(database, writer),
    [Symbol.dispose]() {
      if (database.inTransaction) database.run("ROLLBACK");
      file[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

test("a plant for which there is no room fails its whole batch", async () => {
  using opened = openPlants((database) => {
    const row = database.query<{ page_count: bigint }, []>("PRAGMA page_count").get();
    database.run(`PRAGMA max_page_count = ${row?.page_count}`);
  });
  const batch = [testPlant(1, "Fern"), testPlant(2, "x".repeat(60_000))];
  await expect(opened.plants.create(batch, 1)).rejects.toThrow(StoreUnavailable);
  expect(opened.database.query("SELECT id FROM plants").all()).toEqual([]);
});

test("after damage that an INSERT meets, the outcome of its batch is unknown", async () => {
  using opened = openPlants((database) => {
    database.run("CREATE INDEX own ON plants (name)");
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'own'";
    const root = Number(database.query<{ rootpage: bigint }, []>(sql).get()?.rootpage);
    const pageBytes = Number(database.query<{ page_size: bigint }, []>("PRAGMA page_size").get()?.page_size);
    const file = openSync(database.filename, "r+");
    writeSync(file, Buffer.alloc(pageBytes, 0xff), 0, pageBytes, (root - 1) * pageBytes);
    closeSync(file);
    // Otherwise SQLite would use the page that it still has in memory.
    database.run("PRAGMA shrink_memory");
  });
  const creating = opened.plants.create([testPlant(1, "Fern")], 1);
  await expect(creating).rejects.toThrow("SQLITE_CORRUPT");
});

test("after an error that is not about a plant, nothing of its batch is committed", async () => {
  using opened = openPlants(() => {});
  const { database, plants } = opened;
  const second: PlantToStore = {
    ...testPlant(2),
    // Read right before the INSERT of this plant, which SQLite then refuses with SQLITE_READONLY.
    get createdBy() {
      database.run("PRAGMA query_only = ON");
      return "test";
    },
  };
  const creating = plants.create([testPlant(1), second], 1);
  await expect(creating).rejects.toThrow(OutcomeUnknown);
  database.run("PRAGMA query_only = OFF");
  using reader = new Database(database.filename, { readonly: true });
  expect(reader.query("SELECT id FROM plants").all()).toEqual([]);
});

test("after a trigger that rolls back the transaction, the outcome of its batch is unknown", async () => {
  using opened = openPlants((database) => {
    database.run(
      "CREATE TRIGGER own BEFORE INSERT ON plants WHEN NEW.id = 2 BEGIN SELECT RAISE(ROLLBACK, 'all of it'); END",
    );
  });
  const batch = [testPlant(1, "Fern"), testPlant(2, "Oak"), testPlant(3, "Elm")];
  await expect(opened.plants.create(batch, 1)).rejects.toThrow(OutcomeUnknown);
  expect(opened.database.query("SELECT id FROM plants").all()).toEqual([]);
});
