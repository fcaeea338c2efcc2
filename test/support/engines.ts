import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect } from "bun:test";
import { startCitus } from "./citus-cluster.ts";
import { type Databases, usePostgres } from "./postgres.ts";
import { type PlantRow, storedPlants } from "./stored-plants.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { startOpenService, startTestService, type TestService } from "./test-service.ts";

/** What a test needs from an engine, so that the same test runs on all of them. */
export interface Engine {
  /** A value of `--database` for a new store. */
  newDatabase(): Promise<string>;
  /** Starts the service on a new store. */
  start(): Promise<TestService>;
  /** The plants in the store, read without the service. */
  stored(database: string): Promise<PlantRow[]>;
  /** Runs SQL without the service. */
  run(database: string, sql: string): Promise<Record<string, unknown>[]>;
  /** Makes the store refuse every further entry of its audit trail, and returns what its error then contains. */
  refuseAuditEntries(database: string): Promise<string>;
  /** The time that a plant has which was stored at this time: a number, or a matcher for `toEqual`. */
  storedAt(atMs: number): number;
  /** Fills the audit trail with five changes of tokens at 1 to 5, and 100,010 sign-ins at 6 to 100,015. */
  fillAuditTrail(database: string): Promise<void>;
}

const chosen = process.env["PLANT_STORE_TEST_ENGINES"];

/** Runs the same tests on every engine: SQLite and PostgreSQL, or the one that PLANT_STORE_TEST_ENGINES names. */
export function onEveryEngine(tests: (engine: Engine) => void): void {
  onSqlite(tests);
  onServer(tests);
}

/** Runs tests of what SQLite does in a way of its own, unless PLANT_STORE_TEST_ENGINES names Citus. */
export function onSqlite(tests: (engine: Engine) => void): void {
  if (chosen === "citus") return;
  describe("on SQLite", () => {
    const folder = temporaryFolder();
    const newDatabase = async () => folder.newPath();
    async function run(path: string, sql: string): Promise<Record<string, unknown>[]> {
      using database = new Database(path);
      return database.query<Record<string, unknown>, []>(sql).all();
    }
    tests({
      newDatabase,
      start: async () => startTestService({ database: await newDatabase() }),
      stored: async (database) => storedPlants(database),
      run,
      async refuseAuditEntries(path) {
        await run(
          path,
          "CREATE TRIGGER refused BEFORE INSERT ON audit_trail BEGIN SELECT RAISE(ABORT, 'refused'); END",
        );
        return "SQLITE_CONSTRAINT_TRIGGER";
      },
      storedAt: (atMs) => atMs,
      async fillAuditTrail(path) {
        await run(
          path,
          `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100015)
           INSERT INTO audit_trail (seq, at_ms, actor, action, subject, detail)
           SELECT n, n, 'test', CASE WHEN n <= 5 THEN 'token.created' ELSE 'console.signed-in' END, '', ''
             FROM numbers`,
        );
      },
    });
    // This runs after the tests' own afterAll, which stops the services: a running service would report a deleted data file.
    afterAll(() => folder[Symbol.dispose]());
  });
}

/** Runs tests of what PostgreSQL and Citus do in a way of their own, unless PLANT_STORE_TEST_ENGINES names SQLite. */
export function onServer(tests: (engine: Engine) => void): void {
  if (chosen === "sqlite") return;
  describe(chosen === "citus" ? "on Citus" : "on PostgreSQL", () => {
    let server: DatabaseServer;
    beforeAll(async () => {
      server = await startServer();
    });
    tests(engineOf(() => server));
    afterAll(() => server[Symbol.asyncDispose]());
  });
}

export type DatabaseServer = Databases & AsyncDisposable;

/** PostgreSQL, or Citus if PLANT_STORE_TEST_ENGINES names it. */
export function startServer(): Promise<DatabaseServer> {
  return chosen === "citus" ? startCitus() : usePostgres();
}

/** The server is started before the first test. */
function engineOf(server: () => DatabaseServer): Engine {
  return {
    newDatabase: () => server().newDatabase(),
    async start() {
      return startOpenService(await server().newDatabase());
    },
    stored: (database) => server().stored(database),
    run: (database, sql) => server().run(sql, database),
    async refuseAuditEntries(database) {
      await server().run(
        "ALTER TABLE audit_trail ADD CONSTRAINT refused CHECK (action = 'none') NOT VALID",
        database,
      );
      return 'violates check constraint "refused"';
    },
    // It is the time of the attempt that succeeded, which may be a second one.
    storedAt: (atMs) => expect.closeTo(atMs, -4),
    async fillAuditTrail(database) {
      await server().run(
        `INSERT INTO audit_trail (id, at_ms, actor, action, subject, detail)
         SELECT lpad(to_hex(n), 32, '0'), n, 'test',
                CASE WHEN n <= 5 THEN 'token.created' ELSE 'console.signed-in' END, '', ''
           FROM generate_series(1, 100015) AS n`,
        database,
      );
    },
  };
}
