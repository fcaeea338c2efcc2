import tables from "./migrations/006-tables.sql" with { type: "text" };

export interface Migration {
  readonly number: number;
  readonly sql: string;
}

/**
 * In order; the file's user_version is the number of the last one that it has. The numbers 1 to 5 were used before 1.0.0, and
 * are not used again: a file with one of them is recognised.
 */
export const migrations: readonly Migration[] = [{ number: 6, sql: tables }];
