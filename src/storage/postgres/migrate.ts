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
// Even with IF NOT EXISTS, of two that create a table at once PostgreSQL fails one, with one of these.
const createdMeanwhile = /^(?:23505|42(?:710|P07)|XX000)$/;
const notSupported = "0A000";
const lockNotAvailable = "55P03";

const version = { text: "SELECT version FROM plant_store_schema" };
// Never waiting for the lock: a statement that waits keeps an old snapshot, and for those an index build would wait.
const lock = { text: "SELECT version FROM plant_store_schema FOR UPDATE NOWAIT" };
const isValid = { text: "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)" };
const firstTable = `CREATE TABLE IF NOT EXISTS plant_store_schema (one INT PRIMARY KEY CHECK (one = 1), version INT NOT NULL);
  INSERT INTO plant_store_schema (one, version) VALUES (1, 0) ON CONFLICT (one) DO NOTHING`;
// READ COMMITTED, so that the transaction holds no snapshot while an index is built beside it, however long that takes.
const begin = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = 0";
const unhurried = "SET statement_timeout = 0; SET lock_timeout = 0";

export interface MigrateOptions {
  /** Opens another connection to the same database. */
  readonly open: () => Promise<Connection>;
  /** Whether older tables are upgraded; for looking alone, they are left as they are. */
  readonly upgrade: boolean;
  /** Called where it takes so long that somebody may wonder. */
  readonly onWaiting: (reason: string) => void;
}

/**
 * Brings the schema up to date. Nodes that start at once take turns: whoever holds the one row of plant_store_schema
 * migrates, and the others come again until it is done.
 * @throws DatabaseProblem the schema is newer than this version.
 */
export async function migrate(connection: Connection, options: MigrateOptions): Promise<void> {
  const read = async (statement: { text: string }): Promise<number> =>
    Number((await connection.run(statement, [], migrateMsMax))[0]?.[0] ?? 0);
  // Asked first without a lock: a node may start that has no right to change the schema.
  const found = await read(version).catch(unlessMissing);
  if (upToDate(found) || (!options.upgrade && found >= readableVersion)) return;
  await connection.script(unhurried, migrateMsMax);
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

// On a connection of its own, as the other one holds the lock in a transaction, in which this cannot be done.
async function buildIndex(
  { sql }: Migration,
  index: string,
  { open, onWaiting }: MigrateOptions,
): Promise<void> {
  const connection = await open();
  const slow = setTimeout(() => onWaiting(`the index ${index} is being built`), slowAfterMs);
  try {
    await connection.script(unhurried, migrateMsMax);
    const [row] = await connection.run(isValid, [index], migrateMsMax);
    if (row?.[0] === "f" || row?.[0] === "false") await dropInvalid(connection, index);
    for (const statement of sql.split(/;\s*$/m)) {
      if (statement.trim() === "") continue;
      await connection.script(statement, migrateMsMax).catch((error: unknown) => {
        if (codeOf(error) !== notSupported) throw error;
        // Engines that have no such form change their schema without blocking writers anyway.
        return connection.script(statement.replace("CONCURRENTLY ", ""), migrateMsMax);
      });
    }
  } finally {
    clearTimeout(slow);
    connection.destroy();
  }
}

// Left behind by a build that was interrupted, unless its session still works on it, since the server continues for a while
// after its client has died. A build holds this lock, so it is asked for first, without waiting.
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
