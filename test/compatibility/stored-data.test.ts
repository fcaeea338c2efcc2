// This version opens what 2.0.0 wrote: record.ts made the files in test/fixtures/2.0.0. Never change them.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  migrate as migratePostgres,
  allMigrations as postgresMigrations,
} from "../../src/storage/postgres/migrations/migrate.ts";
import { Server } from "../../src/storage/postgres/server.ts";
import { allMigrations, migrate as migrateFile } from "../../src/storage/sqlite/migrations/migrate.ts";
import recorded from "../fixtures/2.0.0/tokens.json" with { type: "json" };
import { operatorGet } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { usePostgres } from "../support/postgres.ts";
import { type PlantRow, storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startOpenService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";
import { extremes, onlyInWal } from "./recorded-plants.ts";

const fixtures = join(import.meta.dir, "../fixtures/2.0.0");
const later = { number: 1000, sql: "ALTER TABLE plants ADD COLUMN colour TEXT" };

const dataFiles = [
  { what: "closed", name: "closed.db", endings: [""], plants: 1034, also: [] },
  { what: "in use, with its WAL", name: "in-use.db", endings: ["", "-wal"], plants: 1035, also: [onlyInWal] },
  { what: "backup", name: "backup.db", endings: ["", ".sha256"], plants: 1034, also: [] },
];

/** Copies a fixture, with the files that belong to it, into a folder. */
function copyInto(folder: string, { name, endings }: Pick<(typeof dataFiles)[number], "name" | "endings">) {
  const file = join(folder, name);
  for (const ending of endings) copyFileSync(join(fixtures, name + ending), file + ending);
  return file;
}

/** Starts the service on a store, and checks that it has these plants and tokens, and takes a new plant. */
async function expectServed(
  database: string,
  { plants, tokens }: { readonly plants: typeof extremes; readonly tokens: typeof recorded.dataFile },
) {
  await using service = await startOpenService(database);
  for (const { id, name, tag } of plants) {
    const fields = [`"id":${id}`, `"name":${JSON.stringify(name)}`];
    if (tag !== null) fields.push(`"tag":${JSON.stringify(tag)}`);
    const response = await post(service.url, `{${fields.join()}}`, bearer(tokens.valid));
    expect([id, response.status, response.headers.get("Idempotent-Replayed")]).toEqual([id, 200, "true"]);
  }
  const created = await post(service.url, '{"id":3,"name":"New"}', bearer(tokens.valid));
  expect(created.status).toBe(200);
  expect(created.headers.get("Idempotent-Replayed")).toBeNull();
  expect((await post(service.url, '{"id":4,"name":"New"}', bearer(tokens.revoked))).status).toBe(401);
  expect(await operatorGet(service, "/api/plants?tag=日本")).toMatchObject({
    plants: [{ id: "0", createdBy: "greenhouse" }],
  });
}

function expectExtremesIn(rows: readonly PlantRow[]) {
  const ids = extremes.map(({ id }) => id);
  expect(rows.filter(({ id }) => ids.includes(id))).toMatchObject(extremes);
}

test.each(dataFiles)("a start opens a data file of 2.0.0: $what", async (fixture) => {
  using folder = temporaryFolder();
  const file = copyInto(folder.path, fixture);
  await expectServed(file, { plants: [...extremes, ...fixture.also], tokens: recorded.dataFile });
});

test.each(dataFiles)("verify and restore take a data file of 2.0.0: $what", async (fixture) => {
  using folder = temporaryFolder();
  const file = copyInto(folder.path, fixture);
  const verified = await runInProcess(["verify", "--database", file, "--json"]);
  expect(JSON.parse(verified.out)).toMatchObject({
    sound: true,
    plants: fixture.plants,
    matchedPlants: 1024,
    digest: "3bf93bc18473dece91e3dfe800c59f5aa4a2905344ea735841ae4f54b9d5e8d0",
  });
  const restored = join(folder.path, "restored.db");
  expect(await runInProcess(["restore", file, "--database", restored])).toMatchObject({ code: 0 });
  expect(storedPlants(restored)).toHaveLength(fixture.plants);
  expectExtremesIn(storedPlants(restored));
});

test("verify compares a data file of 2.0.0 with the record of its last backup", async () => {
  using folder = temporaryFolder();
  const file = copyInto(folder.path, { name: "closed.db", endings: ["", ".last-backup.json"] });
  const { out } = await runInProcess(["verify", "--database", file, "--json"]);
  expect(JSON.parse(out)).toMatchObject({ sound: true, lastBackupAt: "2026-11-19T12:56:37.828Z" });
});

test("a start copies a data file of 2.0.0 whose fsync failed into a new file", async () => {
  using folder = temporaryFolder();
  const file = copyInto(folder.path, { name: "in-use.db", endings: ["", "-wal"] });
  writeFileSync(`${file}.failure.json`, '{"reason":"sync-failed"}\n');
  await expectServed(file, { plants: [...extremes, onlyInWal], tokens: recorded.dataFile });
  expect(existsSync(`${file}.failure.json`)).toBe(false);
});

test("a start refuses a data file that was overwritten under 2.0.0, and restore --replace takes its place", async () => {
  using folder = temporaryFolder();
  const file = copyInto(folder.path, { name: "in-use.db", endings: ["", "-wal"] });
  writeFileSync(`${file}.failure.json`, '{"reason":"overwritten"}\n');
  await expect(startOpenService(file)).rejects.toThrow("overwritten while the service ran");
  const restore = ["restore", join(fixtures, "backup.db"), "--replace", "--database", file];
  expect(await runInProcess(restore)).toMatchObject({ code: 0 });
  await expectServed(file, { plants: extremes, tokens: recorded.dataFile });
});

test("a data file of 2.0.0 keeps its plants through a later migration", () => {
  using folder = temporaryFolder();
  const file = copyInto(folder.path, { name: "closed.db", endings: [""] });
  {
    using database = new Database(file, { readwrite: true, safeIntegers: true });
    migrateFile(database, file, [...allMigrations, later]);
  }
  expectExtremesIn(storedPlants(file));
});

test("a start opens a PostgreSQL database of 2.0.0, which keeps its plants through a later migration", async () => {
  await using server = await usePostgres();
  const database = await server.newDatabase();
  await server.run(readFileSync(join(fixtures, "postgres.sql"), "utf8"), database);
  await expectServed(database, { plants: extremes, tokens: recorded.postgres });
  const options = { databasePassword: undefined, allowUnsafeDatabase: false };
  const connection = await new Server(database, options).open();
  await migratePostgres(connection, "upgrade", [...postgresMigrations, { ...later, columns: {} }]);
  connection.destroy();
  expectExtremesIn(await server.stored(database));
});
