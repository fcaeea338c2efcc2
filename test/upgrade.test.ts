import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { migrate as migratePostgres, migrations } from "../src/storage/postgres/migrate.ts";
import { Server } from "../src/storage/postgres/server.ts";
import { allMigrations, migrate as migrateFile } from "../src/storage/sqlite/migrate.ts";
import { operatorToken, post, startTestService, storedPlants, temporaryFolder } from "./harness.ts";
import { type Databases, usePostgres } from "./postgres.ts";

// Written by 1.0.0: a data file after a shutdown, and what pg_dump made of a database. Never change them.
const fixtures = join(import.meta.dir, "fixtures/1.0.0");
const plants = [
  { id: -9223372036854775808n, name: "Fern", tag: "indoor" },
  { id: 0n, name: "Größe 🌱\n", tag: "日本" },
  { id: 9007199254740993n, name: "", tag: "" },
  { id: 9223372036854775807n, name: "Moss", tag: null },
];
const later = { number: 1000, since: "9.0.0", sql: "ALTER TABLE plants ADD COLUMN colour TEXT" };

const folder = temporaryFolder();
let server: Databases & AsyncDisposable;
beforeAll(async () => {
  server = await usePostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const written = [
  {
    engine: "a data file",
    token: "pst_LRyXCZbdKnFMEiA7gyWOPDVj3UboeBi8TcL9rMqjULF16pixE",
    revoked: "pst_HBERxELhBTaQkq4dMjMcpXwZeFLqTE3xV0j7Ld76zoB4467WI",
    async open() {
      const file = join(folder.path, `${crypto.randomUUID()}.db`);
      copyFileSync(join(fixtures, "plant-store.db"), file);
      return file;
    },
    stored: async (file: string) => storedPlants(file),
    /** Applies one migration more than this version has. */
    async migrateFurther(file: string) {
      using database = new Database(file, { readwrite: true, safeIntegers: true });
      migrateFile(database, file, [...allMigrations, later]);
    },
  },
  {
    engine: "a PostgreSQL database",
    token: "pst_ihi8NHZ9fgnzNALAb5hiscPJq7OHLTdVORAHtDQUcs24HmXmL",
    revoked: "pst_LS1sx7Gpb5ZmMMrdPD1180wgdk987XUhHC0kwntw4xE4Uk7I7",
    async open() {
      const database = await server.newDatabase();
      await server.run(readFileSync(join(fixtures, "postgres.sql"), "utf8"), database);
      return database;
    },
    stored: (database: string) => server.stored(database),
    async migrateFurther(database: string) {
      const options = { databasePassword: undefined, allowUnsafeDatabase: false };
      const connection = await new Server(database, options).open();
      await migratePostgres(connection, "upgrade", [...migrations, { ...later, columns: {} }]);
      connection.destroy();
    },
  },
];

describe.each(written)("$engine of 1.0.0", ({ token, revoked, open, stored, migrateFurther }) => {
  test("opens: its plants are replayed, its tokens work, and it takes new plants", async () => {
    await using running = await startTestService({}, await open());
    const send = (body: string, secret: string) =>
      post(running.url, body, { Authorization: `Bearer ${secret}` });
    for (const { id, name, tag } of plants) {
      const body = `{"id":${id},"name":${JSON.stringify(name)}${tag === null ? "" : `,"tag":${JSON.stringify(tag)}`}}`;
      const response = await send(body, token);
      expect([response.status, response.headers.get("Idempotent-Replayed")]).toEqual([200, "true"]);
    }
    expect((await send('{"id":1,"name":"Ivy"}', token)).status).toBe(200);
    expect((await send('{"id":2,"name":"Ivy"}', revoked)).status).toBe(401);
    const list = await fetch(`${running.operatorUrl}/api/plants?tag=indoor`, {
      headers: { Authorization: `Bearer ${operatorToken}` },
    });
    expect(await list.json()).toMatchObject({
      plants: [{ id: "-9223372036854775808", createdBy: "greenhouse" }],
    });
  });

  test("keeps its plants through a later migration", async () => {
    const database = await open();
    await migrateFurther(database);
    expect(await stored(database)).toMatchObject(plants);
  });
});
