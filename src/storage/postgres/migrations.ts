import tables from "./migrations/006-tables.sql" with { type: "text" };

export interface Migration {
  readonly number: number;
  readonly sql: string;
  /** Columns that our tables have after it, by which a database is recognised. */
  readonly columns: Readonly<Record<string, readonly string[]>>;
}

/**
 * In order; the table plant_store_schema has the number of the last one. The numbers 1 to 5 were used before 1.0.0, and are not
 * used again: a database with one of them is recognised.
 */
export const migrations: readonly Migration[] = [
  {
    number: 6,
    sql: tables,
    columns: {
      plants: ["id bigint", "name text", "tag text", "created_at_ms bigint", "created_by text"],
      tokens: [
        ...["digest text", "id text", "name text", "scopes text", "created_at_ms bigint"],
        ...["expires_at_ms bigint", "revoked_at_ms bigint", "created_by text", "last_used_at_ms bigint"],
        "rate_limit text",
      ],
      plant_store_nodes: ["node text", "seen_at_ms bigint"],
      audit_trail: [
        ...["id text", "at_ms bigint", "actor text", "action text", "subject text", "address text"],
        "detail text",
      ],
    },
  },
];
