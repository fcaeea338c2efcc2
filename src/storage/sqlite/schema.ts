import { Database } from "bun:sqlite";
import { createHash } from "node:crypto";

interface Table {
  name: string;
  sql: string;
}

/**
 * Digests of our tables: as this database has them, and as that many migrations create them; and the triggers on them, of which we
 * create none. Tables of other programs, such as Litestream, and the operator's own indexes are ignored.
 */
export function fingerprints(
  database: Database,
  version: number,
  migrations: readonly string[],
): { readonly actual: string; readonly expected: string; readonly triggers: readonly string[] } {
  using model = new Database(":memory:");
  for (const sql of migrations.slice(0, version)) model.run(sql);
  const expected = tablesOf(model);
  for (const sql of migrations.slice(version)) model.run(sql);
  const ours = new Set(tablesOf(model).map(({ name }) => name));
  return {
    actual: fingerprint(tablesOf(database), ours),
    expected: fingerprint(expected, ours),
    triggers: triggersOn(database, ours),
  };
}

function fingerprint(tables: readonly Table[], ours: ReadonlySet<string>): string {
  const hash = createHash("sha256");
  for (const { name, sql } of tables) if (ours.has(name)) hash.update(`${sql};\n`);
  return hash.digest("hex").slice(0, 16);
}

function triggersOn(database: Database, tables: ReadonlySet<string>): string[] {
  return database
    .query<{ name: string; tbl_name: string }, []>(
      "SELECT name, tbl_name FROM sqlite_schema WHERE type = 'trigger'",
    )
    .all()
    .filter(({ tbl_name: table }) => tables.has(table.toLowerCase()))
    .map(({ name }) => name);
}

function tablesOf(database: Database): Table[] {
  return database
    .query<Table, []>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    )
    .all();
}
