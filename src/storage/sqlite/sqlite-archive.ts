import type { Database } from "bun:sqlite";
import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  type Arrivals,
  CursorProblem,
  type DiskUsage,
  type PageRequest,
  type PlantArchive,
  type PlantFilter,
  type PlantPage,
  type StoredPlant,
  type TagCount,
} from "../../plants/plant-archive.ts";
import { namePattern } from "./name-pattern.ts";
import { allColumns, type Direction, fromRow, type Range, type Row } from "./plant-rows.ts";
import { rowsOfName, rowsOfTag, topTags } from "./rows-in-windows.ts";

// A page of huge plants is cut short rather than held in memory whole.
const rowsAtOnce = 250;
const pageCharactersMax = 4 * 1024 * 1024;
// A search goes through the store in slices, each a short read of its own: a long one would keep the log from beginning
// anew, and could not be left. Their width follows how long they take, since names can be long and needles awkward.
const sliceSeqsMin = 64;
const sliceSeqsMax = 100_000;
const sliceMsWanted = 25;

/** Looking into SQLite. Blocks its thread while it reads: the service gives it one of its own. */
export class SqliteArchive implements PlantArchive {
  readonly #database: Database;
  readonly #path: string;

  constructor(database: Database, path: string) {
    this.#database = database;
    this.#path = path;
  }

  /** As the port says; with `stop`, goes no further than the plant at that place. */
  async page(request: PageRequest, stop?: number): Promise<PlantPage> {
    const { filter, order, cursor, limit, searchMsMax } = request;
    const range = this.#range(filter, order, cursor);
    if (stop !== undefined && order === "newest-first") range.low = Math.max(range.low, stop);
    if (stop !== undefined && order === "oldest-first") range.high = Math.min(range.high, stop);
    if (filter.id !== undefined) return this.#pageOfOne(filter.id, filter, range);
    const deadlineMs = performance.now() + searchMsMax;
    const newestFirst = order === "newest-first";
    const searching = isSearch(filter);
    const plants: StoredPlant[] = [];
    let sliceSeqs = sliceSeqsMin;
    let characters = 0;
    let searched = 0;
    while (range.low <= range.high) {
      const slice = searching ? firstSlice(range, newestFirst, sliceSeqs) : range;
      const asked = Math.min(limit - plants.length, rowsAtOnce);
      const startMs = performance.now();
      const rows = this.#rows(filter, slice, newestFirst ? "DESC" : "ASC", asked);
      for (const row of rows) {
        plants.push(fromRow(row));
        characters += row.name.length + (row.tag?.length ?? 0);
      }
      const last = rows.length === asked ? rows.at(-1) : undefined;
      const end = last === undefined ? (newestFirst ? slice.low : slice.high) : Number(last.seq);
      searched += searching ? Math.abs(end - (newestFirst ? slice.high : slice.low)) + 1 : rows.length;
      if (newestFirst) range.high = end - 1;
      else range.low = end + 1;
      const enough = plants.length === limit || characters > pageCharactersMax;
      if (enough || performance.now() > deadlineMs)
        return { plants, next: nextOf(range, newestFirst), searched };
      sliceSeqs = nextWidth(sliceSeqs, performance.now() - startMs);
    }
    return { plants, next: undefined, searched };
  }

  async find(id: bigint): Promise<StoredPlant | undefined> {
    const row = this.#row(id);
    return row === null ? undefined : fromRow(row);
  }

  async findAll(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    return ids.flatMap((id) => this.#row(id) ?? []).map(fromRow);
  }

  async total(): Promise<number> {
    // Plants are never taken out and each gets the next number, so the last number is how many there are.
    return this.#lastSeq();
  }

  async createdPerMinute(fromMs: number, minutes: number): Promise<readonly number[]> {
    const counts: number[] = [];
    let start = this.#firstSeqAt(fromMs, 1);
    for (let minute = 1; minute <= minutes; minute++) {
      const end = this.#firstSeqAt(fromMs + minute * 60_000, start);
      counts.push(end - start);
      start = end;
    }
    return counts;
  }

  async topTags(limit: number): Promise<readonly TagCount[]> {
    return topTags(this.#database, limit);
  }

  async arrivedSince(cursor: string | undefined, limit: number): Promise<Arrivals> {
    if (cursor === undefined) return { plants: [], cursor: String(this.#lastSeq()) };
    const rows = this.#database
      .query<Row, [number, number]>(`SELECT ${allColumns} FROM plants WHERE seq > ? ORDER BY seq LIMIT ?`)
      .all(seqOf(cursor), limit);
    return { plants: rows.map(fromRow), cursor: String(rows.at(-1)?.seq ?? cursor) };
  }

  async diskUsage(): Promise<DiskUsage> {
    const { bavail, bsize } = statfsSync(dirname(this.#path));
    const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return {
      bytes: sizeOf(this.#path),
      walBytes: sizeOf(`${this.#path}-wal`),
      diskFreeBytes: bavail * bsize,
    };
  }

  #rows(filter: PlantFilter, range: Range, direction: Direction, limit: number): Row[] {
    const { condition, values } = conditionOf(filter);
    const wanted = { range, direction, limit, condition, values };
    if (filter.namePart !== undefined) return rowsOfName(this.#database, filter.namePart, wanted);
    if (filter.tag !== undefined) return rowsOfTag(this.#database, filter.tag, wanted);
    return this.#database
      .query<Row, (number | string)[]>(
        `SELECT ${allColumns} FROM plants WHERE seq BETWEEN ? AND ?${condition} ORDER BY seq ${direction} LIMIT ?`,
      )
      .all(range.low, range.high, ...values, limit);
  }

  #pageOfOne(id: bigint, filter: PlantFilter, range: Range): PlantPage {
    const row = this.#row(id);
    const { condition, values } = conditionOf(filter);
    const fits =
      row !== null &&
      Number(row.seq) >= range.low &&
      Number(row.seq) <= range.high &&
      this.#database.query(`SELECT 1 FROM plants WHERE seq = ?${condition}`).get(row.seq, ...values) !== null;
    return { plants: fits ? [fromRow(row)] : [], next: undefined, searched: row === null ? 0 : 1 };
  }

  #range({ sinceMs, untilMs }: PlantFilter, order: PageRequest["order"], cursor: string | undefined): Range {
    const range = {
      low: sinceMs === undefined ? 1 : this.#firstSeqAt(sinceMs, 1),
      high: untilMs === undefined ? this.#lastSeq() : this.#firstSeqAt(untilMs, 1) - 1,
    };
    if (cursor === undefined) return range;
    if (order === "newest-first") range.high = Math.min(range.high, seqOf(cursor) - 1);
    else range.low = Math.max(range.low, seqOf(cursor) + 1);
    return range;
  }

  #row(id: bigint): Row | null {
    return this.#database.query<Row, [bigint]>(`SELECT ${allColumns} FROM plants WHERE id = ?`).get(id);
  }

  #lastSeq(): number {
    return Number(
      this.#database.query<{ seq: bigint | null }, []>("SELECT max(seq) AS seq FROM plants").get()?.seq ?? 0n,
    );
  }

  /** The first plant that is not older than that moment, from one that is known to be older on; past the last if none. */
  #firstSeqAt(timeMs: number, from: number): number {
    const at = this.#database.query<{ created_at_ms: bigint }, [number]>(
      "SELECT created_at_ms FROM plants WHERE seq >= ? ORDER BY seq LIMIT 1",
    );
    let low = from;
    let high = this.#lastSeq() + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (Number(at.get(middle)?.created_at_ms ?? 0n) < timeMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Whether plants must be looked at one by one, because no index leads to them. */
export function isSearch({ id, namePart, createdBy }: PlantFilter): boolean {
  return id === undefined && (namePart !== undefined || createdBy !== undefined);
}

export function seqOf(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new CursorProblem("This cursor is not one that a page gave.");
  return Number(cursor);
}

function conditionOf({ tag, namePart, createdBy }: PlantFilter): { condition: string; values: string[] } {
  const parts: string[] = [];
  const values: string[] = [];
  if (tag !== undefined) {
    parts.push(" AND plants.tag = ?");
    values.push(tag);
  }
  if (createdBy !== undefined) {
    parts.push(" AND created_by = ?");
    values.push(createdBy);
  }
  if (namePart !== undefined) {
    const { operator, pattern } = namePattern(namePart);
    parts.push(` AND name ${operator}`);
    values.push(pattern);
  }
  return { condition: parts.join(""), values };
}

function firstSlice({ low, high }: Range, newestFirst: boolean, width: number): Range {
  return newestFirst
    ? { low: Math.max(low, high - width + 1), high }
    : { low, high: Math.min(high, low + width - 1) };
}

function nextWidth(width: number, tookMs: number): number {
  if (tookMs > 2 * sliceMsWanted) return Math.max(sliceSeqsMin, Math.floor(width / 4));
  return tookMs < sliceMsWanted ? Math.min(sliceSeqsMax, width * 4) : width;
}

function nextOf({ low, high }: Range, newestFirst: boolean): string | undefined {
  if (low > high) return undefined;
  return String(newestFirst ? high + 1 : low - 1);
}
