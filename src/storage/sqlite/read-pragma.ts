import type { Database } from "bun:sqlite";

export function readPragma(database: Database, name: string): bigint {
  const row = database.query<Record<string, bigint>, []>(`PRAGMA ${name}`).get();
  return Object.values(row ?? {})[0] ?? 0n;
}
