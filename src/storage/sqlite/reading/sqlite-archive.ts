import type { Database } from "bun:sqlite";
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import {
  beginning,
  CursorProblem,
  type DiskUsage,
  type FollowPage,
  type FollowRequest,
  type MatchCount,
  type PageRequest,
  type PlantArchive,
  type PlantFilter,
  type PlantPage,
  StaleCursor,
  type StoredPlant,
} from "../../../plants/plant-archive.ts";
import { countTag, lastSummarised, plantsThatMayMatch, type Sql } from "../block-summaries.ts";
import { lastSeq, type SeqRange } from "../blocks.ts";
import { Damage } from "../data-file-problem.ts";
import { fileSize } from "../durable-files.ts";
import { createdPerBucket } from "./created-per-bucket.ts";
import { isForLike, searchSlice } from "./search-slice.ts";

interface PlantRow {
  seq: bigint;
  id: bigint;
  name: string;
  tag: string | null;
  created_at_ms: bigint;
  created_by: string;
}

type Order = PageRequest["order"];

const allColumns = "plants.seq, id, name, plants.tag, created_at_ms, created_by";
// A page of huge plants is truncated, to bound memory.
const rowsPerRead = 250;
const pageCharactersMax = 4 * 1024 * 1024;
// The store id, and the seq and the time of a plant.
const followCursor = /^([0-9a-f]{16})\.(\d{1,15})\.(-?[0-9a-z]{1,13})$/;
// The last time that a Date can hold.
const timeMsMax = 8.64e15;

/** Reads SQLite, and blocks its thread while it does: the service runs it on a thread of its own. */
export class SqliteArchive implements PlantArchive {
  readonly #database: Database;
  readonly #path: string;

  constructor(database: Database, path: string) {
    this.#database = database;
    this.#path = path;
  }

  async page({ filter, order, cursor, limit, searchMsMax }: PageRequest): Promise<PlantPage> {
    const last = lastSeq(this.#database);
    const newest = this.#cursorAt(last);
    const scan = new Scan(this.#range(filter, order, cursor, last), order);
    const deadlineMs = performance.now() + searchMsMax;
    const plants: StoredPlant[] = [];
    let characters = 0;
    let searched = 0;
    for (let offered = scan.slice(); offered !== undefined; offered = scan.slice()) {
      const slice = this.#inTime(filter, offered, order);
      const wanted = Math.min(limit - plants.length, rowsPerRead);
      const rows = this.#rows(filter, slice, order, wanted);
      for (const row of rows) {
        plants.push(fromRow(row));
        characters += row.name.length + (row.tag?.length ?? 0);
      }
      searched += scan.passed(slice, rows.length === wanted ? rows.at(-1)?.seq : undefined);
      const enough = plants.length === limit || characters > pageCharactersMax;
      if (enough || performance.now() > deadlineMs) break;
    }
    return { plants, next: scan.cursor, searched, newest };
  }

  /** One writer numbers the plants as it commits them, so no lower seq can appear later. */
  async pageAfter({ after, ...request }: FollowRequest): Promise<FollowPage> {
    const seq = after === beginning ? 0 : this.#followedSeq(after);
    const page = await this.page({ ...request, order: "oldest-first", cursor: String(seq) });
    return {
      ...page,
      next: page.next === undefined ? page.newest : this.#cursorAt(seqOf(page.next)),
      fromBeginning: after === beginning || (seq === 0 && page.searched > 0),
    };
  }

  async find(id: bigint): Promise<StoredPlant | undefined> {
    return (await this.findAll([id]))[0];
  }

  async findAll(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    return ids.flatMap((id) => this.#row(id) ?? []).map(fromRow);
  }

  async total(): Promise<number> {
    return lastSeq(this.#database);
  }

  async createdPerBucket(fromMs: number, buckets: number, bucketMs: number): Promise<readonly number[]> {
    return createdPerBucket(this.#database, fromMs, buckets, bucketMs);
  }

  async count(filter: PlantFilter, cursor: string | undefined, msMax: number): Promise<MatchCount> {
    const last = lastSeq(this.#database);
    const { tag, ...others } = filter;
    if (Object.values(others).every((value) => value === undefined))
      return { plants: tag === undefined ? last : countTag(this.#database, tag), next: undefined };
    const scan = new Scan(this.#range(filter, "oldest-first", cursor, last), "oldest-first");
    const deadlineMs = performance.now() + msMax;
    let plants = 0;
    for (let offered = scan.slice(); offered !== undefined; offered = scan.slice()) {
      const slice = this.#inTime(filter, offered, "oldest-first");
      for (const { sql, values } of plantQueries(this.#database, filter, slice))
        plants += Number(
          this.#database.query<{ plants: bigint }, Sql["values"][number][]>(sql).get(...values)?.plants ?? 0n,
        );
      scan.passed(slice);
      if (performance.now() > deadlineMs) break;
    }
    return { plants, next: scan.cursor };
  }

  async diskUsage(): Promise<DiskUsage> {
    const { bavail, bsize } = statfsSync(dirname(this.#path));
    return {
      bytes: fileSize(this.#path),
      walBytes: fileSize(`${this.#path}-wal`),
      diskFreeBytes: bavail * bsize,
    };
  }

  #rows(filter: PlantFilter, range: SeqRange, order: Order, limit: number): PlantRow[] {
    const rows: PlantRow[] = [];
    for (const { sql, values } of plantQueries(this.#database, filter, range, order)) {
      const query = this.#database.query<PlantRow, Sql["values"][number][]>(`${sql} LIMIT ?`);
      rows.push(...query.all(...values, limit - rows.length));
      if (rows.length === limit) break;
    }
    return rows;
  }

  /** As much of the slice as can be read before the time is looked at again. */
  #inTime({ namePart }: PlantFilter, slice: SeqRange, order: Order): SeqRange {
    return namePart === undefined ? slice : searchSlice(this.#database, namePart, slice, order);
  }

  #row(id: bigint): PlantRow | null {
    return this.#database.query<PlantRow, [bigint]>(`SELECT ${allColumns} FROM plants WHERE id = ?`).get(id);
  }

  /** Where the matches are, after the cursor and up to the last plant. */
  #range(filter: PlantFilter, order: Order, cursor: string | undefined, last: number): SeqRange {
    const { id, sinceMs, untilMs } = filter;
    const range = { low: 1, high: last };
    if (cursor !== undefined && order === "newest-first")
      range.high = Math.min(range.high, seqOf(cursor) - 1);
    if (cursor !== undefined && order === "oldest-first") range.low = seqOf(cursor) + 1;
    if (id !== undefined) {
      const seq = Number(this.#row(id)?.seq ?? 0n);
      return { low: Math.max(range.low, seq), high: Math.min(range.high, seq) };
    }
    if (sinceMs === undefined && untilMs === undefined) return range;
    // Times need not be in order, but mostly are: then the range from the first to the last match is small.
    const first = (from: Order) => this.#rows({ sinceMs, untilMs }, range, from, 1)[0]?.seq;
    return { low: Number(first("oldest-first") ?? 1), high: Number(first("newest-first") ?? 0) };
  }

  // With the plant's time: a file that was put back without `restore` has the same store id, but the plants that were stored
  // in it since then have other times. An empty store has no plant, and a cursor all the same: whoever follows it has begun.
  #cursorAt(seq: number): string {
    const row = this.#database
      .query<{ id: string; seq: bigint | null; created_at_ms: bigint | null }, [number]>(
        `SELECT id, seq, created_at_ms FROM store_id
         LEFT JOIN (SELECT seq, created_at_ms FROM plants WHERE seq <= ? ORDER BY seq DESC LIMIT 1)`,
      )
      .get(seq);
    return row === null ? beginning : `${row.id}.${row.seq ?? 0}.${(row.created_at_ms ?? 0n).toString(36)}`;
  }

  #followedSeq(cursor: string): number {
    const seq = Number(followCursor.exec(cursor)?.[2]);
    if (Number.isNaN(seq)) throw new CursorProblem("The cursor is not from a page of this store.");
    if (this.#cursorAt(seq) !== cursor)
      throw new StaleCursor("The cursor belongs to another store, or to this one before it was restored.");
    return seq;
  }
}

/**
 * The queries that together select the plants of a range that match a filter, or without an order count them: one of blocks
 * that have a summary, one of the newest plants.
 */
export function plantQueries(
  database: Database,
  filter: PlantFilter,
  { low, high }: SeqRange,
  order?: Order,
): Sql[] {
  const condition = conditionOf(filter);
  const direction = order === "newest-first" ? "DESC" : "ASC";
  const query = (from: Sql, ...by: readonly string[]): Sql => {
    const ordered = order && `ORDER BY ${by.map((column) => `${column} ${direction}`).join(", ")}`;
    return {
      sql: `SELECT ${order ? allColumns : "count(*) AS plants"} ${from.sql} ${condition.sql} ${ordered ?? ""}`,
      values: [...from.values, ...condition.values],
    };
  };
  const plants = (from: number): Sql => ({
    sql: "FROM plants WHERE seq BETWEEN ? AND ?",
    values: [from, high],
  });
  const summarised = Math.min(high, lastSummarised(database));
  const inBlocks = plantsThatMayMatch(filter, { low, high: summarised });
  if (inBlocks === undefined || summarised < low) return [query(plants(low), "seq")];
  const queries = [query(inBlocks, ...inBlocks.order)];
  if (summarised < high) queries.push(query(plants(summarised + 1), "seq"));
  return direction === "DESC" ? queries.toReversed() : queries;
}

/** What a plant itself must match, as SQL that starts with AND. */
function conditionOf({ tag, namePart, createdBy, sinceMs, untilMs }: PlantFilter): Sql {
  const parts: string[] = [];
  const values: (string | number)[] = [];
  const add = (sql: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    parts.push(`AND ${sql}`);
    values.push(value);
  };
  // The plus keeps SQLite from building an automatic index for the equality: it would read every plant, for each slice.
  add("+plants.tag = ?", tag);
  add("+created_by = ?", createdBy);
  add("created_at_ms >= ?", sinceMs);
  add("created_at_ms < ?", untilMs);
  if (namePart !== undefined && isForLike(namePart))
    add("name LIKE ? ESCAPE '\\'", `%${namePart.replace(/[%_\\]/g, "\\$&")}%`);
  else if (namePart !== undefined) add("name GLOB ?", `*${[...namePart].map(eitherCase).join("")}*`);
  return { sql: parts.join(" "), values };
}

// One letter in either case, as a character class, in which ] may be first, and ^ may not.
function eitherCase(letter: string): string {
  if (/[*?[]/.test(letter)) return `[${letter}]`;
  const forms = new Set([letter, letter.toLowerCase(), letter.toUpperCase()]);
  // Where the other case is several letters (ß, SS) only the given one matches.
  const single = [...forms].filter((form) => [...form].length === 1);
  return single.length === 1 ? letter : `[${single.join("")}]`;
}

const sliceSeqsMin = 64;
const sliceSeqsMax = 100_000;
const sliceMsWanted = 25;

/**
 * Goes through a range in slices, each a short transaction: a long one would keep the WAL from restarting, and could not be
 * interrupted. Their size adapts to how long they take.
 */
class Scan {
  readonly #rest: SeqRange;
  readonly #newestFirst: boolean;
  #seqs = sliceSeqsMin;
  #startMs = 0;

  constructor(range: SeqRange, order: Order) {
    this.#rest = { ...range };
    this.#newestFirst = order === "newest-first";
  }

  /** The next slice; undefined at the end. */
  slice(): SeqRange | undefined {
    const { low, high } = this.#rest;
    if (low > high) return undefined;
    this.#startMs = performance.now();
    return this.#newestFirst
      ? { low: Math.max(low, high - this.#seqs + 1), high }
      : { low, high: Math.min(high, low + this.#seqs - 1) };
  }

  /** To be called when the slice was read, entirely or up to that plant. Returns how many plants it passed. */
  passed({ low, high }: SeqRange, upTo?: bigint): number {
    const end = Number(upTo ?? (this.#newestFirst ? low : high));
    if (this.#newestFirst) this.#rest.high = end - 1;
    else this.#rest.low = end + 1;
    const tookMs = performance.now() - this.#startMs;
    if (tookMs > 2 * sliceMsWanted) this.#seqs = Math.max(sliceSeqsMin, Math.floor(this.#seqs / 4));
    else if (tookMs < sliceMsWanted) this.#seqs = Math.min(sliceSeqsMax, this.#seqs * 4);
    return 1 + (this.#newestFirst ? high - end : end - low);
  }

  /** The cursor of what is left; undefined at the end. */
  get cursor(): string | undefined {
    const { low, high } = this.#rest;
    if (low > high) return undefined;
    return String(this.#newestFirst ? high + 1 : low - 1);
  }
}

function seqOf(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new CursorProblem("The cursor is not from a page of this store.");
  return Number(cursor);
}

/**
 * In a damaged file a column may hold anything.
 * @throws Damage
 */
function fromRow({ seq, id, name, tag, created_at_ms: atMs, created_by: createdBy }: PlantRow): StoredPlant {
  const createdAtMs = Number(atMs);
  const isReadable =
    typeof id === "bigint" &&
    typeof name === "string" &&
    (tag === null || typeof tag === "string") &&
    Math.abs(createdAtMs) <= timeMsMax &&
    typeof createdBy === "string";
  if (!isReadable) throw new Damage(`the plant at position ${seq} cannot be read`);
  return { id, name, tag: tag ?? undefined, createdAtMs, createdBy };
}
