import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "./connection.ts";
import { retryWaitMs } from "./connections.ts";
import { DatabaseProblem } from "./database-url.ts";
import { ConnectionLost, codeOf } from "./faults.ts";
import { type Migration, migrations, readableVersion } from "./migrations.ts";

// An index on a large table is built here too.
const migrateMsMax = 6 * 3_600_000;
const slowAfterMs = 2000;
const createTriesMax = 20;
// Even with IF NOT EXISTS, PostgreSQL fails one of two sessions that create a table concurrently, with one of these.
const createdMeanwhile = /^(?:23505|42(?:710|P07)|XX000)$/;
const notSupported = "0A000";
const lockNotAvailable = "55P03";

const version = { text: "SELECT version FROM plant_store_schema" };
// NOWAIT: a statement that waits holds an old snapshot, and CREATE INDEX CONCURRENTLY waits for those.
const lock = { text: "SELECT version FROM plant_store_schema FOR UPDATE NOWAIT" };
const isValid = { text: "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)" };
const firstTable = `CREATE TABLE IF NOT EXISTS plant_store_schema (one INT PRIMARY KEY CHECK (one = 1), version INT NOT NULL);
  INSERT INTO plant_store_schema (one, version) VALUES (1, 0) ON CONFLICT (one) DO NOTHING`;
// READ COMMITTED, so that the transaction holds no snapshot while an index is built concurrently, however long that takes.
const begin = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = 0";
const withoutTimeouts = "SET statement_timeout = 0; SET lock_timeout = 0";

export interface MigrateOptions {
  /** Opens another connection to the same database. */
  readonly open: () => Promise<Connection>;
  /** What happens to older tables. Missing ones are always created. */
  readonly older: "upgrade" | "accept" | "refuse";
  /** Called with the reason when it takes long. */
  readonly onWaiting: (reason: string) => void;
}

/**
 * Migrates the schema. Of nodes that start together, the one that locks the row of plant_store_schema migrates, and the
 * others retry until it is done.
 * @throws DatabaseProblem the schema is newer than this version, or older and refused.
 */
export async function migrate(connection: Connection, options: MigrateOptions): Promise<void> {
  const read = async (statement: { text: string }): Promise<number> =>
    Number((await connection.run(statement, [], migrateMsMax))[0]?.[0] ?? 0);
  // Without a lock first: a node may have no privilege to change the schema.
  const found = await read(version).catch(unlessMissing);
  if (upToDate(found) || (options.older === "accept" && found >= readableVersion)) return;
  if (found > 0 && options.older === "refuse")
    throw new DatabaseProblem(
      "The database was set up by an older plant-store: start the service on it once to upgrade its tables.",
    );
  await connection.script(withoutTimeouts, migrateMsMax);
  await createFirstTable(connection);
  for (;;) {
    await connection.script(begin, migrateMsMax);
    const have = await read(lock).catch(whileLocked("another process is upgrading the tables"));
    const migration = migrations[have];
    if (upToDate(have) || migration === undefined) return connection.script("COMMIT", migrateMsMax);
    if (migration.buildsIndex === undefined) await connection.script(migration.sql, migrateMsMax);
    else await buildIndex(migration, migration.buildsIndex, options);
    await connection.script(`UPDATE plant_store_schema SET version = ${have + 1}; COMMIT`, migrateMsMax);
  }
}

// On a connection of its own: the other one holds the lock in a transaction, where CONCURRENTLY is not allowed.
async function buildIndex(
  { sql }: Migration,
  index: string,
  { open, onWaiting }: MigrateOptions,
): Promise<void> {
  const connection = await open();
  const slow = setTimeout(() => onWaiting(`the index ${index} is being built`), slowAfterMs);
  try {
    await connection.script(withoutTimeouts, migrateMsMax);
    const [row] = await connection.run(isValid, [index], migrateMsMax);
    if (row?.[0] === "f" || row?.[0] === "false") await dropInvalid(connection, index);
    for (const statement of sql.split(/;\s*$/m)) {
      if (statement.trim() === "") continue;
      await connection.script(statement, migrateMsMax).catch((error: unknown) => {
        if (codeOf(error) !== notSupported) throw error;
        // Engines without CONCURRENTLY never block writers for an index.
        return connection.script(statement.replace("CONCURRENTLY ", ""), migrateMsMax);
      });
    }
  } finally {
    clearTimeout(slow);
    connection.destroy();
  }
}

// An interrupted build leaves an invalid index; but the server may still be building it, for a client that has died. A build
// holds this lock, so it is tried first, with NOWAIT.
async function dropInvalid(connection: Connection, index: string): Promise<void> {
  const tryLock = "BEGIN; LOCK TABLE plants IN SHARE UPDATE EXCLUSIVE MODE NOWAIT; COMMIT";
  await connection
    .script(tryLock, migrateMsMax)
    .catch(whileLocked("an index of the table plants is being built"));
  await connection.script(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`, migrateMsMax);
}

async function createFirstTable(connection: Connection): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await connection.script(firstTable, migrateMsMax);
    } catch (error) {
      if (!createdMeanwhile.test(codeOf(error)) || tries === createTriesMax) throw error;
      await sleep(retryWaitMs(tries));
    }
  }
}

function upToDate(have: number): boolean {
  if (have > migrations.length) {
    throw new DatabaseProblem(
      "The database was set up by a newer plant-store; use that version or a newer one.",
    );
  }
  return have === migrations.length;
}

function whileLocked(reason: string): (error: unknown) => never {
  return (error) => {
    throw codeOf(error) === lockNotAvailable ? new ConnectionLost(reason) : error;
  };
}

function unlessMissing(error: unknown): number {
  if (codeOf(error) === "42P01") return 0;
  throw error;
}
