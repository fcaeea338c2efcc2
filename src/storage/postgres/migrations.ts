import plants from "./migrations/001-plants.sql" with { type: "text" };
import tokens from "./migrations/002-tokens.sql" with { type: "text" };

/** In order; the table plant_store_schema counts how many the database has. One that has been released never changes. */
export const migrations: readonly string[] = [plants, tokens];
