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
import { countTag, createdPerBucket, lastSeq } from "../block-summaries.ts";
import { fileSize } from "../durable-files.ts";
import {
  allColumns,
  countPlants,
  fromRow,
  type PlantRow,
  type SeqRange,
  selectPlants,
} from "./plant-query.ts";

// A page of huge plants is truncated, to bound memory.
const rowsPerRead = 250;
const pageCharactersMax = 4 * 1024 * 1024;
// A search reads the store in slices, each a short transaction: a long one would keep the WAL from restarting, and could not
// be interrupted. Their size adapts to how long they take.
const sliceSeqsMin = 64;
const sliceSeqsMax = 100_000;
const sliceMsWanted = 25;
const countSeqsMin = 4096;
// The store id, and the seq and the time of a plant.
const followCursor = /^([0-9a-f]{16})\.(\d{1,15})\.(-?[0-9a-z]{1,13})$/;

/** Reads SQLite, and blocks its thread while it does: the service runs it on a thread of its own. */
export class SqliteArchive implements PlantArchive {
  readonly #database: Database;
  readonly #path: string;

  constructor(database: Database, path: string) {
    this.#database = database;
    this.#path = path;
  }

  async page(request: PageRequest): Promise<PlantPage> {
    const { filter, order, limit, searchMsMax } = request;
    const last = lastSeq(this.#database);
    const newest = this.#cursorAt(last);
    const range = this.#range(last, request);
    const deadlineMs = performance.now() + searchMsMax;
    const newestFirst = order === "newest-first";
    const searching = isSearch(filter);
    const plants: StoredPlant[] = [];
    let sliceSeqs = sliceSeqsMin;
    let characters = 0;
    let searched = 0;
    while (range.low <= range.high) {
      const slice = searching ? firstSlice(range, newestFirst, sliceSeqs) : range;
      const wanted = Math.min(limit - plants.length, rowsPerRead);
      const startMs = performance.now();
      const direction = newestFirst ? "DESC" : "ASC";
      const rows = selectPlants(this.#database, { filter, range: slice, direction, limit: wanted });
      for (const row of rows) {
        plants.push(fromRow(row));
        characters += row.name.length + (row.tag?.length ?? 0);
      }
      const lastRow = rows.length === wanted ? rows.at(-1) : undefined;
      const end = lastRow === undefined ? (newestFirst ? slice.low : slice.high) : Number(lastRow.seq);
      searched += searching ? Math.abs(end - (newestFirst ? slice.high : slice.low)) + 1 : rows.length;
      if (newestFirst) range.high = end - 1;
      else range.low = end + 1;
      const enough = plants.length === limit || characters > pageCharactersMax;
      if (enough || performance.now() > deadlineMs)
        return { plants, next: nextOf(range, newestFirst), searched, newest };
      sliceSeqs = nextWidth(sliceSeqs, performance.now() - startMs);
    }
    return { plants, next: undefined, searched, newest };
  }

  /** One writer numbers the plants as it commits them, so no lower seq can appear later. */
  async pageAfter({ after, ...request }: FollowRequest): Promise<FollowPage> {
    const cursor = String(after === beginning ? 0 : this.#followedSeq(after));
    const page = await this.page({ ...request, order: "oldest-first", cursor });
    return { ...page, next: page.next === undefined ? page.newest : this.#cursorAt(seqOf(page.next)) };
  }

  async find(id: bigint): Promise<StoredPlant | undefined> {
    const row = this.#row(id);
    return row === null ? undefined : fromRow(row);
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
    const chosen = Object.entries(filter).filter(([, value]) => value !== undefined);
    if (chosen.length === 0) return { plants: lastSeq(this.#database), next: undefined };
    const isOnlyTag = chosen.length === 1 && filter.tag !== undefined;
    if (isOnlyTag) return { plants: countTag(this.#database, filter.tag ?? ""), next: undefined };
    const range = this.#range(lastSeq(this.#database), { filter, order: "oldest-first", cursor });
    const deadlineMs = performance.now() + msMax;
    let sliceSeqs = countSeqsMin;
    let plants = 0;
    while (range.low <= range.high) {
      const startMs = performance.now();
      const slice = firstSlice(range, false, sliceSeqs);
      plants += countPlants(this.#database, filter, slice);
      range.low = slice.high + 1;
      if (performance.now() > deadlineMs) return { plants, next: nextOf(range, false) };
      sliceSeqs = nextWidth(sliceSeqs, performance.now() - startMs);
    }
    return { plants, next: undefined };
  }

  async diskUsage(): Promise<DiskUsage> {
    const { bavail, bsize } = statfsSync(dirname(this.#path));
    return {
      bytes: fileSize(this.#path),
      walBytes: fileSize(`${this.#path}-wal`),
      diskFreeBytes: bavail * bsize,
    };
  }

  #range(
    last: number,
    { filter, order, cursor }: Pick<PageRequest, "filter" | "order" | "cursor">,
  ): SeqRange {
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
    const end = (direction: "ASC" | "DESC"): number | undefined => {
      const query = { filter: { sinceMs, untilMs }, range, direction, limit: 1 };
      return selectPlants(this.#database, query).map(({ seq }) => Number(seq))[0];
    };
    return { low: end("ASC") ?? 1, high: end("DESC") ?? 0 };
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

  #row(id: bigint): PlantRow | null {
    return this.#database.query<PlantRow, [bigint]>(`SELECT ${allColumns} FROM plants WHERE id = ?`).get(id);
  }
}

/** Whether plants must be scanned, because no index finds them. */
function isSearch({ id, namePart, createdBy }: PlantFilter): boolean {
  return id === undefined && (namePart !== undefined || createdBy !== undefined);
}

function seqOf(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new CursorProblem("The cursor is not from a page of this store.");
  return Number(cursor);
}

function firstSlice({ low, high }: SeqRange, newestFirst: boolean, width: number): SeqRange {
  return newestFirst
    ? { low: Math.max(low, high - width + 1), high }
    : { low, high: Math.min(high, low + width - 1) };
}

function nextWidth(width: number, tookMs: number): number {
  if (tookMs > 2 * sliceMsWanted) return Math.max(sliceSeqsMin, Math.floor(width / 4));
  return tookMs < sliceMsWanted ? Math.min(sliceSeqsMax, width * 4) : width;
}

function nextOf({ low, high }: SeqRange, newestFirst: boolean): string | undefined {
  if (low > high) return undefined;
  return String(newestFirst ? high + 1 : low - 1);
}
