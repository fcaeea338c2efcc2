// This version opens what released ones wrote, on both engines.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  migrate as migratePostgres,
  allMigrations as postgresMigrations,
} from "../../src/storage/postgres/migrations/migrate.ts";
import { Server } from "../../src/storage/postgres/server.ts";
import { allMigrations, migrate as migrateFile } from "../../src/storage/sqlite/migrations/migrate.ts";
import { operatorGet } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { type Databases, usePostgres } from "../support/postgres.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startOpenService, type TestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

// What released versions wrote: a data file after a shutdown, and what `pg_dump --inserts` made of a database. Never change them.
const fixtures = join(import.meta.dir, "../fixtures");
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

// The ways to a store that a released version wrote.
const dataFile = {
  engine: "data file",
  async open(version: string) {
    return folder.newCopy(join(fixtures, version, "plant-store.db"));
  },
  stored: async (file: string) => storedPlants(file),
  /** Applies one migration more than this version has. */
  async migrateFurther(file: string) {
    using database = new Database(file, { readwrite: true, safeIntegers: true });
    migrateFile(database, file, [...allMigrations, later]);
  },
};
const postgres = {
  engine: "PostgreSQL database",
  async open(version: string) {
    const database = await server.newDatabase();
    await server.run(readFileSync(join(fixtures, version, "postgres.sql"), "utf8"), database);
    return database;
  },
  stored: (database: string) => server.stored(database),
  async migrateFurther(database: string) {
    const options = { databasePassword: undefined, allowUnsafeDatabase: false };
    const connection = await new Server(database, options).open();
    await migratePostgres(connection, "upgrade", [...postgresMigrations, { ...later, columns: {} }]);
    connection.destroy();
  },
};

const written = [
  {
    ...dataFile,
    version: "1.0.0",
    token: "pst_LRyXCZbdKnFMEiA7gyWOPDVj3UboeBi8TcL9rMqjULF16pixE",
    revoked: "pst_HBERxELhBTaQkq4dMjMcpXwZeFLqTE3xV0j7Ld76zoB4467WI",
  },
  {
    ...dataFile,
    version: "1.1.0",
    token: "pst_g4EJhvkNUmNkIpDjY0mKQvxNEWq3Uaw5zBMEcDofXHq4BrGId",
    revoked: "pst_pdntxDG2Yv4B6mOJfO10B9JQgChT66KcXbuWVh7hW8X3tuFnY",
  },
  {
    ...postgres,
    version: "1.0.0",
    token: "pst_ihi8NHZ9fgnzNALAb5hiscPJq7OHLTdVORAHtDQUcs24HmXmL",
    revoked: "pst_LS1sx7Gpb5ZmMMrdPD1180wgdk987XUhHC0kwntw4xE4Uk7I7",
  },
  {
    ...postgres,
    version: "1.1.0",
    token: "pst_pkrDAMZTezcpXA7maSHo38TCK1EtaFwBmynUA6wNUJD3JaMMA",
    revoked: "pst_cU39mwEPIgTpqL3nIQkX8CVMd4rVoUKhcLv7965JqN62RI2YF",
  },
];

describe.each(written)(
  "a $engine of $version",
  ({ version, token, revoked, open, stored, migrateFurther }) => {
    let database: string;
    let service: TestService;
    beforeAll(async () => {
      database = await open(version);
      service = await startOpenService(database);
    });
    afterAll(() => service[Symbol.asyncDispose]());

    function send(body: string, secret: string): Promise<Response> {
      return post(service.url, body, bearer(secret));
    }

    test.each(plants)("replays plant $id", async ({ id, name, tag }) => {
      const fields = [`"id":${id}`, `"name":${JSON.stringify(name)}`];
      if (tag !== null) fields.push(`"tag":${JSON.stringify(tag)}`);
      const response = await send(`{${fields.join()}}`, token);
      expect(response.status).toBe(200);
      expect(response.headers.get("Idempotent-Replayed")).toBe("true");
    });

    test("stores a new plant", async () => {
      const response = await send('{"id":1,"name":"Ivy"}', token);
      expect(response.status).toBe(200);
      expect(response.headers.get("Idempotent-Replayed")).toBeNull();
    });

    test("refuses a token that was revoked", async () => {
      expect((await send('{"id":2,"name":"Ivy"}', revoked)).status).toBe(401);
    });

    test("finds a plant by its tag", async () => {
      expect(await operatorGet(service, "/api/plants?tag=indoor")).toMatchObject({
        plants: [{ id: "-9223372036854775808", createdBy: "greenhouse" }],
      });
    });

    test("keeps its plants through a later migration", async () => {
      const another = await open(version);
      await migrateFurther(another);
      const ids = plants.map(({ id }) => id);
      const kept = (await stored(another)).filter(({ id }) => ids.includes(id));
      expect(kept).toMatchObject(plants);
    });
  },
);

test("the digest that 1.1.0 stored is that of its plants", async () => {
  const { out } = await runInProcess(["verify", "--database", await dataFile.open("1.1.0"), "--json"]);
  expect(JSON.parse(out)).toMatchObject({
    matchedPlants: 1024,
    coveredPlants: 1024,
    digest: "d455fb3805f4e2a2294014a6405453b85ca412ecc6f650359de62dff4ad7de9d",
  });
});
