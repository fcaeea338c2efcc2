import { Database } from "bun:sqlite";
import { createHash } from "node:crypto";

interface Table {
  name: string;
  sql: string;
}

/**
 * A digest of the tables that the migrations make, as this database has them. Tables of others, such as Litestream's, and
 * an operator's own indexes do not count.
 */
export function fingerprintOf(database: Database, migrations: readonly string[]): string {
  return fingerprint(tablesOf(database), migratedTables(migrations));
}

/** The digest of a database that has just these migrations, the first of all that there are. */
export function fingerprintAt(version: number, migrations: readonly string[]): string {
  return fingerprint(migratedTables(migrations.slice(0, version)), migratedTables(migrations));
}

function fingerprint(tables: readonly Table[], ours: readonly Table[]): string {
  const hash = createHash("sha256");
  for (const { name, sql } of tables) if (ours.some((own) => own.name === name)) hash.update(`${sql};\n`);
  return hash.digest("hex").slice(0, 16);
}

function migratedTables(migrations: readonly string[]): Table[] {
  using database = new Database(":memory:");
  for (const sql of migrations) database.run(sql);
  return tablesOf(database);
}

function tablesOf(database: Database): Table[] {
  return database
    .query<Table, []>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    )
    .all();
}
