import plants from "./migrations/001-plants.sql" with { type: "text" };
import tokens from "./migrations/002-tokens.sql" with { type: "text" };
import nodes from "./migrations/003-nodes.sql" with { type: "text" };
import tagPrefix from "./migrations/004-tag-prefix.sql" with { type: "text" };
import auditTrail from "./migrations/005-audit-trail.sql" with { type: "text" };

export interface Migration {
  readonly sql: string;
  /** The index that it builds while others write, statement by statement, outside a transaction. */
  readonly buildsIndex?: string;
}

/** In order; the table plant_store_schema counts how many the database has. One that has landed never changes. */
export const migrations: readonly Migration[] = [
  { sql: plants },
  { sql: tokens },
  { sql: nodes },
  { sql: tagPrefix, buildsIndex: "plants_by_tag_prefix" },
  { sql: auditTrail },
];

/** How many a store needs to be read. The others make it faster, are only for writing, or are optional. */
export const readableVersion = 2;
