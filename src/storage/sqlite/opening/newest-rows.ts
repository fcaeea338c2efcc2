// What is checked at every start, because it was written last, or is needed at once: a crash, a truncation or a full disk damages
// it first, and it is quick to read.
import type { Database } from "bun:sqlite";
import { readPragma } from "../data-file/connect.ts";
import { Damage } from "../data-file/data-file-problem.ts";
import { fileSize } from "../data-file/durable-files.ts";

// As many as a block has: what a checkpoint wrote last.
const newestPlants = 1024;

interface CheckedPlant {
  readonly seq: bigint;
  readonly isText: bigint;
  /** Where the index of ids leads. */
  readonly indexedSeq: bigint | null;
}

// The newest plants, the oldest one, and both ends of the index of ids. Their time and sender are only read.
const selectPlants = `
  WITH newest     AS (SELECT * FROM plants ORDER BY seq DESC LIMIT ${newestPlants}),
       oldest     AS (SELECT * FROM plants ORDER BY seq LIMIT 1),
       lowest_id  AS (SELECT * FROM plants ORDER BY id LIMIT 1),
       highest_id AS (SELECT * FROM plants ORDER BY id DESC LIMIT 1),
       checked    AS (SELECT * FROM newest    UNION ALL
                      SELECT * FROM oldest    UNION ALL
                      SELECT * FROM lowest_id UNION ALL
                      SELECT * FROM highest_id)
  SELECT seq, created_at_ms, created_by,
         instr(name, char(0)) + instr(ifnull(tag, ''), char(0)) = 0 AS isText,
         (SELECT plants.seq FROM plants WHERE plants.id = checked.id) AS indexedSeq
    FROM checked`;

// The newest row of each table of blocks; of their tags, which are ordered by tag, both ends, and the newest row of one.
const selectsOfBlocks = [
  "SELECT * FROM block_times ORDER BY block DESC LIMIT 1",
  "SELECT * FROM block_names ORDER BY block DESC LIMIT 1",
  "SELECT * FROM block_tags ORDER BY tag, block LIMIT 1",
  "SELECT * FROM block_tags ORDER BY tag DESC, block DESC LIMIT 1",
  `SELECT * FROM block_tags
    WHERE tag = (SELECT tag FROM plants WHERE tag IS NOT NULL ORDER BY seq DESC LIMIT 1)
    ORDER BY block DESC LIMIT 1`,
  "SELECT * FROM block_digests ORDER BY block DESC LIMIT 1",
];

// The tokens with their index, and both ends of the audit trail.
const selectsOfAccess = [
  "SELECT * FROM tokens",
  "SELECT digest FROM tokens ORDER BY digest",
  "SELECT * FROM audit_trail ORDER BY seq LIMIT 1",
  "SELECT * FROM audit_trail ORDER BY seq DESC LIMIT 1",
];

/** @throws Damage, SQLiteError */
export function readNewestRows(database: Database): void {
  for (const plant of database.query<CheckedPlant, []>(selectPlants).all()) {
    // Where a page of a long name was lost, SQLite reads zeros.
    if (plant.isText !== 1n) throw new Damage(`the name or the tag of plant ${plant.seq} is not text`);
    if (plant.indexedSeq !== plant.seq) throw new Damage("its index does not lead to every plant");
  }
  for (const select of [...selectsOfBlocks, ...selectsOfAccess]) database.query(select).all();
}

/**
 * SQLite reads what is missing at the end of the file as zeros.
 * @throws Damage
 */
export function refuseShort(database: Database, path: string): void {
  const bytes = Number(readPragma(database, "page_count") * readPragma(database, "page_size"));
  // Pages that are in the WAL need not be in the file yet.
  if (fileSize(`${path}-wal`) > 0) return;
  const actual = fileSize(path);
  if (actual < bytes) throw new Damage(`it has ${actual} of ${bytes} bytes`);
}
