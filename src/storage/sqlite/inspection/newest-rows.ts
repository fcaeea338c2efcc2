import type { Database } from "bun:sqlite";
import { blockPlants } from "../blocks/blocks.ts";
import { Damage } from "../data-file/data-file-problem.ts";

// The plants of one block: what was written last is what a crash, a truncation or a full disk damages first.
const newestPlants = blockPlants;

interface NewestPlant {
  readonly seq: bigint;
  readonly isText: bigint;
  /** Where the index of ids leads. */
  readonly indexedSeq: bigint | null;
}

/**
 * What is quick to read at every start: the newest plants with their entries in the index of ids, both ends of that
 * index, the newest row of each table of blocks, the tokens, and both ends of the audit trail. All of it is at the
 * end of the file, or is needed at once.
 * @throws Damage, SQLiteError
 */
export function readNewestRows(database: Database): void {
  for (const plant of newestAndOutermost(database)) {
    // Where a page of a long name was lost, SQLite reads zeros.
    if (plant.isText !== 1n) throw new Damage(`the name or the tag of plant ${plant.seq} is not text`);
    if (plant.indexedSeq !== plant.seq) throw new Damage("its index does not lead to every plant");
  }
  for (const table of blockTables(database))
    database.query(`SELECT * FROM ${table} ORDER BY rowid DESC LIMIT 1`).all();
  readTagsOfBlocks(database);
  database.query("SELECT * FROM tokens").all();
  database.query("SELECT digest FROM tokens ORDER BY digest").all();
  for (const order of ["seq", "seq DESC"])
    database.query(`SELECT * FROM audit_trail ORDER BY ${order} LIMIT 1`).all();
}

function newestAndOutermost(database: Database): readonly NewestPlant[] {
  const columns = `seq, created_at_ms, created_by,
      instr(name, char(0)) + instr(ifnull(tag, ''), char(0)) = 0 AS isText,
      (SELECT found.seq FROM plants AS found WHERE found.id = plants.id) AS indexedSeq`;
  return [`seq DESC LIMIT ${newestPlants}`, "seq LIMIT 1", "id LIMIT 1", "id DESC LIMIT 1"].flatMap((order) =>
    database.query<NewestPlant, []>(`SELECT ${columns} FROM plants ORDER BY ${order}`).all(),
  );
}

/** The tables with one row for each block. A file of 1.0.0 has fewer. */
function blockTables(database: Database): readonly string[] {
  const tables = database
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE name IN ('block_times', 'block_names', 'block_digests')",
    )
    .all();
  return tables.map(({ name }) => name);
}

/** The tags of blocks are ordered by tag, so this reads the newest row of one tag, and both ends of the table. */
function readTagsOfBlocks(database: Database): void {
  for (const order of ["tag, block", "tag DESC, block DESC"])
    database.query(`SELECT * FROM block_tags ORDER BY ${order} LIMIT 1`).all();
  database
    .query(
      `SELECT * FROM block_tags
        WHERE tag = (SELECT tag FROM plants WHERE tag IS NOT NULL ORDER BY seq DESC LIMIT 1)
        ORDER BY block DESC LIMIT 1`,
    )
    .all();
}
