import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe } from "bun:test";
import { join } from "node:path";
import {
  type StoredPlant,
  startTestService,
  storedPlants,
  type TestService,
  temporaryFolder,
} from "./harness.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";

/** What a test needs from an engine, so that the same test runs on all of them. */
export interface Engine {
  readonly name: "sqlite" | "postgres";
  /** A value of `--database` for a new store. */
  newDatabase(): Promise<string>;
  /** Starts the service on a new store. */
  start(flags?: Record<string, string>): Promise<TestService>;
  /** The plants in the store, read without the service. */
  stored(database: string): Promise<StoredPlant[]>;
  /** Runs SQL without the service. */
  run(database: string, sql: string): Promise<Record<string, unknown>[]>;
}

/** Runs the same tests on every engine. */
export function onEveryEngine(tests: (engine: Engine) => void): void {
  describe("on SQLite", () => {
    const folder = temporaryFolder();
    afterAll(() => folder[Symbol.dispose]());
    let files = 0;
    const newDatabase = async () => join(folder.path, `plants-${++files}.db`);
    tests({
      name: "sqlite",
      newDatabase,
      start: async (flags) => startTestService(flags, await newDatabase()),
      stored: async (database) => storedPlants(database),
      async run(path, sql) {
        using database = new Database(path);
        return database.query<Record<string, unknown>, []>(sql).all();
      },
    });
  });

  if (process.env["PLANT_STORE_TEST_ENGINES"] === "sqlite") return;
  describe("on PostgreSQL", () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server[Symbol.asyncDispose]());
    tests({
      name: "postgres",
      newDatabase: () => server.newDatabase(),
      start: async (flags) => startTestService(flags, await server.newDatabase()),
      stored: (database) => server.stored(database),
      run: (database, sql) => server.run(sql, database),
    });
  });
}
