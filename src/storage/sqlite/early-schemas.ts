import type { Database } from "bun:sqlite";

// Before migrations were frozen, the first one was rewritten in place, so files of several schemas have the
// user_version 2. These are the ones before the last: plants by id, by seq with an index of tags, and by seq with tag counts.
const fingerprints = ["31269ecf04a58542", "dbc69cc1b0ee0320", "b3c8d030e6231167"];
const earlyVersion = 2;

export function isEarly(version: number, fingerprint: string): boolean {
  return version === earlyVersion && fingerprints.includes(fingerprint);
}

/** Converts an early schema to the final schema of version 2, with every plant in order. */
export function migrateEarly(database: Database, firstMigration: string): void {
  database.run(
    `ALTER TABLE plants RENAME TO early_plants;
     DROP INDEX IF EXISTS plants_by_tag;
     DROP TABLE IF EXISTS plants_by_tag;
     DROP TABLE IF EXISTS plants_by_tag_end;
     DROP TABLE IF EXISTS tag_windows;
     DROP TABLE IF EXISTS tag_windows_end;`,
  );
  database.run(firstMigration);
  // In the first of them the rowid is the id, and only the time gives the order; in the others it is seq.
  database.run(
    `INSERT INTO plants (id, name, tag, created_at_ms, created_by)
     SELECT id, name, tag, created_at_ms, created_by FROM early_plants ORDER BY created_at_ms, rowid;
     DROP TABLE early_plants;`,
  );
}
