import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe } from "bun:test";
import { startCitus } from "./citus-cluster.ts";
import {
  type PlantRow,
  startOpenService,
  startTestService,
  storedPlants,
  type TestService,
  temporaryFolder,
} from "./harness.ts";
import { type Databases, usePostgres } from "./postgres.ts";

/** What a test needs from an engine, so that the same test runs on all of them. */
export interface Engine {
  readonly name: "sqlite" | "postgres";
  /** A value of `--database` for a new store. */
  newDatabase(): Promise<string>;
  /** Starts the service on a new store. */
  start(): Promise<TestService>;
  /** The plants in the store, read without the service. */
  stored(database: string): Promise<PlantRow[]>;
  /** Runs SQL without the service. */
  run(database: string, sql: string): Promise<Record<string, unknown>[]>;
}

const chosen = process.env["PLANT_STORE_TEST_ENGINES"];

/** Runs the same tests on every engine: SQLite and PostgreSQL, or the one that PLANT_STORE_TEST_ENGINES names. */
export function onEveryEngine(tests: (engine: Engine) => void): void {
  if (chosen === "citus") return describe("on Citus", () => onServer(tests));
  describe("on SQLite", () => {
    const folder = temporaryFolder();
    const newDatabase = async () => folder.newPath();
    tests({
      name: "sqlite",
      newDatabase,
      start: async () => startTestService({ database: await newDatabase() }),
      stored: async (database) => storedPlants(database),
      async run(path, sql) {
        using database = new Database(path);
        return database.query<Record<string, unknown>, []>(sql).all();
      },
    });
    // After the tests' own, which stop the services: a service that runs saves its store when the folder goes.
    afterAll(() => folder[Symbol.dispose]());
  });

  if (chosen === "sqlite") return;
  describe("on PostgreSQL", () => onServer(tests));
}

export type DatabaseServer = Databases & AsyncDisposable;

/** PostgreSQL, or Citus if PLANT_STORE_TEST_ENGINES names it. */
export function startServer(): Promise<DatabaseServer> {
  return chosen === "citus" ? startCitus() : usePostgres();
}

function onServer(tests: (engine: Engine) => void): void {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startServer();
  });
  tests({
    name: "postgres",
    newDatabase: () => server.newDatabase(),
    async start() {
      return startOpenService(await server.newDatabase());
    },
    stored: (database) => server.stored(database),
    run: (database, sql) => server.run(sql, database),
  });
  afterAll(() => server[Symbol.asyncDispose]());
}
