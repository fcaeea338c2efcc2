import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "./connection.ts";
import { retryWaitMs } from "./connections.ts";
import { DatabaseProblem } from "./database-url.ts";
import { codeOf, mayRetry, reasonOf } from "./faults.ts";
import { migrations } from "./migrations.ts";

// An index on a large table is made here too.
const migrateMsMax = 600_000;
// Whoever starts the service beside its database need not wait for it first.
const startMsMax = 10_000;
const createTriesMax = 20;
// Even with IF NOT EXISTS, of two that create a table at once PostgreSQL fails one, with one of these.
const createdMeanwhile = /^(?:23505|42(?:710|P07)|XX000)$/;

const version = { text: "SELECT version FROM plant_store_schema" };
const lock = { text: "SELECT version FROM plant_store_schema FOR UPDATE" };
const firstTable = `CREATE TABLE IF NOT EXISTS plant_store_schema (one INT PRIMARY KEY CHECK (one = 1), version INT NOT NULL);
  INSERT INTO plant_store_schema (one, version) VALUES (1, 0) ON CONFLICT (one) DO NOTHING`;

/**
 * Brings the schema up to date. Nodes that start at once take turns: whoever holds the one row of plant_store_schema
 * migrates, and the others find it done.
 * @throws DatabaseProblem
 */
export async function migrate(open: () => Promise<Connection>): Promise<void> {
  const deadlineMs = performance.now() + startMsMax;
  for (let tries = 0; ; tries++) {
    let connection: Connection | undefined;
    try {
      connection = await open();
      return await migrateOnce(connection);
    } catch (error) {
      if (error instanceof DatabaseProblem) throw error;
      if (!mayRetry(error) || performance.now() > deadlineMs)
        throw new DatabaseProblem(`The database cannot be used: ${reasonOf(error)}.`);
      await sleep(retryWaitMs(tries));
    } finally {
      // Whatever transaction was open ends with it.
      connection?.destroy();
    }
  }
}

async function migrateOnce(connection: Connection): Promise<void> {
  const read = async (statement: { text: string }): Promise<number> =>
    Number((await connection.run(statement, [], migrateMsMax))[0]?.[0] ?? 0);
  // Asked first without a lock: a node may start that has no right to change the schema.
  if (upToDate(await read(version).catch(unlessMissing))) return;
  await createFirstTable(connection);
  await connection.script("BEGIN", migrateMsMax);
  const have = await read(lock);
  if (upToDate(have)) return;
  for (const sql of migrations.slice(have)) await connection.script(sql, migrateMsMax);
  await connection.script(
    `UPDATE plant_store_schema SET version = ${migrations.length}; COMMIT`,
    migrateMsMax,
  );
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

function unlessMissing(error: unknown): number {
  if (codeOf(error) === "42P01") return 0;
  throw error;
}
