import type { Database } from "bun:sqlite";
import { type Change, CursorProblem, StaleCursor } from "../../../plants/plant-archive.ts";
import { allColumns, fromRow, type PlantRow } from "./plant-query.ts";

// A page of huge plants is truncated, to bound memory.
const rowsPerRead = 250;
const pageCharactersMax = 1024 * 1024;
const beginning = "0";
const cursorShape = /^([0-9a-f]{16})\.(\d{1,15})\.(-?[0-9a-z]{1,13})$/;

/**
 * The plants after the cursor. One writer numbers the plants, so what a reader sees has no gaps; `ThreadedArchive` returns it once
 * it is durable.
 * @throws CursorProblem, StaleCursor
 */
export function changesAfter(database: Database, cursor: string, limit: number): readonly Change[] {
  const id = database.query<{ id: string }, []>("SELECT id FROM store_id").get()?.id ?? "";
  const read = database.query<PlantRow, [number, number]>(
    `SELECT ${allColumns} FROM plants WHERE seq > ? ORDER BY seq LIMIT ?`,
  );
  let after = cursor === beginning ? 0 : checkedSeq(database, id, cursor);
  const changes: Change[] = [];
  for (let characters = 0; changes.length < limit && characters < pageCharactersMax; ) {
    const wanted = Math.min(rowsPerRead, limit - changes.length);
    const rows = read.all(after, wanted);
    for (const row of rows) {
      changes.push({ cursor: cursorOf(id, row), plant: fromRow(row) });
      characters += row.name.length + (row.tag?.length ?? 0);
    }
    after = Number(rows.at(-1)?.seq ?? after);
    if (rows.length < wanted) break;
  }
  return changes;
}

// With the plant's time: a file that was restored without `restore` has the same store id, but the plants stored since
// then have other times.
function cursorOf(storeId: string, { seq, created_at_ms: createdAtMs }: PlantRow): string {
  return `${storeId}.${seq}.${createdAtMs.toString(36)}`;
}

function checkedSeq(database: Database, storeId: string, cursor: string): number {
  const [, ofStore, seqText] = cursorShape.exec(cursor) ?? [];
  if (ofStore === undefined) throw new CursorProblem("The cursor is not from this feed.");
  const seq = Number(seqText);
  const row = database.query<PlantRow, [number]>(`SELECT ${allColumns} FROM plants WHERE seq = ?`).get(seq);
  if (ofStore !== storeId || row === null || cursorOf(storeId, row) !== cursor)
    throw new StaleCursor("The cursor is of another store, or of this one before it was restored.");
  return seq;
}
