// This version opens what the last one before 2.0.0 wrote: 51f90761 made the files in test/fixtures/1.2.1. Never change them.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  migrate as migratePostgres,
  allMigrations as postgresMigrations,
} from "../../src/storage/postgres/migrations/migrate.ts";
import { Server } from "../../src/storage/postgres/server.ts";
import { allMigrations, migrate as migrateFile } from "../../src/storage/sqlite/migrations/migrate.ts";
import { operatorGet } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { usePostgres } from "../support/postgres.ts";
import { type PlantRow, storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startOpenService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

const fixtures = join(import.meta.dir, "../fixtures/1.2.1");
const extremes = [
  { id: -9223372036854775808n, name: "Fern", tag: "indoor" },
  { id: 0n, name: "Größe 🌱\n", tag: "日本" },
  { id: 9007199254740993n, name: "", tag: "" },
  { id: 9223372036854775807n, name: "Moss", tag: null },
];
const onlyInWal = { id: 2n, name: "Only in the WAL", tag: null };
const ofDataFile = {
  valid: "pst_JygLtPEZUjtjmVfLlHoolNYvWBp2EAURNKHmQLMfuc42pzcTT",
  revoked: "pst_sjSP1hRwdRIkh9xAXUL39a4wWgjCTSFYBDE1bvxUdgJ4QKzCr",
};
const ofPostgres = {
  valid: "pst_rpr1RTr6Vz5XjjRSJgKBF30ABidbBxlquU35Sk0TQEQ4aZVaA",
  revoked: "pst_OMHLOqyC6jCTRivjavICl9qwPwWpKWBgIjtcGb8FCLR0ksgBf",
};
const later = { number: 1000, sql: "ALTER TABLE plants ADD COLUMN colour TEXT" };

const dataFiles = [
  { what: "closed", name: "closed.db", endings: [""], plants: 1034, also: [] },
  { what: "in use, with its WAL", name: "in-use.db", endings: ["", "-wal"], plants: 1036, also: [onlyInWal] },
  { what: "backup", name: "backup.db", endings: ["", ".sha256", ".digest.json"], plants: 1034, also: [] },
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
  { plants, tokens }: { readonly plants: typeof extremes; readonly tokens: typeof ofDataFile },
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

test.each(dataFiles)("a start opens a data file of 1.2.1: $what", async (fixture) => {
  using folder = temporaryFolder();
  const file = copyInto(folder.path, fixture);
  await expectServed(file, { plants: [...extremes, ...fixture.also], tokens: ofDataFile });
});

test.each(dataFiles)("verify and restore take a data file of 1.2.1: $what", async (fixture) => {
  using folder = temporaryFolder();
  const file = copyInto(folder.path, fixture);
  const verified = await runInProcess(["verify", "--database", file, "--json"]);
  expect(JSON.parse(verified.out)).toMatchObject({
    sound: true,
    plants: fixture.plants,
    matchedPlants: 1024,
    digest: "2b40e356c71a76864567d9a29b3a8ed710831ac25ac23ea7e169927201b7371a",
  });
  const restored = join(folder.path, "restored.db");
  expect(await runInProcess(["restore", file, "--database", restored])).toMatchObject({ code: 0 });
  expect(storedPlants(restored)).toHaveLength(fixture.plants);
  expectExtremesIn(storedPlants(restored));
});

test("verify compares a data file of 1.2.1 with the record of its last backup", async () => {
  using folder = temporaryFolder();
  const file = copyInto(folder.path, { name: "closed.db", endings: ["", ".last-backup.json"] });
  const { out } = await runInProcess(["verify", "--database", file, "--json"]);
  expect(JSON.parse(out)).toMatchObject({ sound: true, lastBackupAt: "2026-11-19T02:35:15.113Z" });
});

test("a start copies a data file of 1.2.1 whose fsync failed into a new file", async () => {
  using folder = temporaryFolder();
  const file = copyInto(folder.path, { name: "in-use.db", endings: ["", "-wal"] });
  copyFileSync(join(fixtures, "sync-failed.json"), `${file}.failure.json`);
  await expectServed(file, { plants: [...extremes, onlyInWal], tokens: ofDataFile });
  expect(existsSync(`${file}.failure.json`)).toBe(false);
});

test.each([
  ["was replaced while it was open", "replaced.json", "overwritten while the service ran"],
  ["1.2.1 was replacing when it was interrupted", "rebuilt.json", "1.2.1 was interrupted while it replaced"],
])(
  "a start refuses a data file of 1.2.1 that %s, and restore --replace takes its place",
  async (_, marker, says) => {
    using folder = temporaryFolder();
    const file = copyInto(folder.path, { name: "in-use.db", endings: ["", "-wal"] });
    // What 1.2.1 was putting in its place.
    copyFileSync(join(fixtures, "backup.db"), `${file}.rebuilt`);
    copyFileSync(join(fixtures, marker), `${file}.failure.json`);
    await expect(startOpenService(file)).rejects.toThrow(says);
    const refused = await runInProcess(["list", "--database", file]);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(says) });
    const restore = ["restore", `${file}.rebuilt`, "--replace", "--database", file];
    expect(await runInProcess(restore)).toMatchObject({ code: 0 });
    await expectServed(file, { plants: extremes, tokens: ofDataFile });
    expect(storedPlants(file)).toHaveLength(1035);
  },
);

test("a data file of 1.2.1 keeps its plants through a later migration", () => {
  using folder = temporaryFolder();
  const file = copyInto(folder.path, { name: "closed.db", endings: [""] });
  {
    using database = new Database(file, { readwrite: true, safeIntegers: true });
    migrateFile(database, file, [...allMigrations, later]);
  }
  expectExtremesIn(storedPlants(file));
});

test("a start opens a PostgreSQL database of 1.2.1, which keeps its plants through a later migration", async () => {
  await using server = await usePostgres();
  const database = await server.newDatabase();
  await server.run(readFileSync(join(fixtures, "postgres.sql"), "utf8"), database);
  await expectServed(database, { plants: extremes, tokens: ofPostgres });
  const options = { databasePassword: undefined, allowUnsafeDatabase: false };
  const connection = await new Server(database, options).open();
  await migratePostgres(connection, "upgrade", [...postgresMigrations, { ...later, columns: {} }]);
  connection.destroy();
  expectExtremesIn(await server.stored(database));
});
