import plants from "./migrations/001-plants.sql" with { type: "text" };
import tokens from "./migrations/002-tokens.sql" with { type: "text" };
import blockTimes from "./migrations/003-block-times.sql" with { type: "text" };
import auditTrail from "./migrations/004-audit-trail.sql" with { type: "text" };
import storeId from "./migrations/005-store-id.sql" with { type: "text" };

/** In order; the database's user_version counts how many it has. They are frozen: one that has landed never changes. */
export const migrations: readonly string[] = [plants, tokens, blockTimes, auditTrail, storeId];

/** The numbers of those that change or remove stored rows or tables. Before one of these, the data file is copied. */
export const rewritingMigrations: ReadonlySet<number> = new Set();
