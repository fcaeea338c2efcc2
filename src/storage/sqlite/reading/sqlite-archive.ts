import type { Database } from "bun:sqlite";
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import {
  beginningCursor,
  type DiskUsage,
  type FollowPage,
  type FollowRequest,
  invalidCursorProblem,
  type MatchCount,
  nowCursor,
  type PageRequest,
  type PlantArchive,
  type PlantFilter,
  type PlantPage,
  StaleCursor,
  type StoredPlant,
} from "../../../plants/plant-archive.ts";
import { timeMsMax } from "../../../text/time.ts";
import { PageRoom } from "../../page-room.ts";
import { countTag } from "../blocks/block-summaries.ts";
import { lastSeq, type Order, type SeqRange } from "../blocks/blocks.ts";
import { Damage } from "../data-file/data-file-problem.ts";
import { fileSize } from "../data-file/durable-files.ts";
import { createdPerBucket } from "./created-per-bucket.ts";
import { countQueries, plantColumns, type Query, selectQueries } from "./match-queries.ts";
import { searchablePart } from "./name-search.ts";
import { Scan } from "./scan.ts";

interface PlantRow {
  seq: bigint;
  id: bigint;
  name: string;
  tag: string | null;
  created_at_ms: bigint;
  created_by: string;
}

const rowsPerRead = 250;
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

  async page({ filter, order, cursor, limit, searchMsMax }: PageRequest): Promise<PlantPage> {
    const { rows, next, searched } = this.#readPage({ filter, order, cursor, limit, searchMsMax });
    return { plants: rows.map(fromRow), next, searched };
  }

  /** One writer numbers the plants as it commits them, so no lower seq can appear later. */
  async pageAfter({ after, ...request }: FollowRequest): Promise<FollowPage> {
    const nowMs = Date.now();
    const last = lastSeq(this.#database);
    const atEnd = { hasMore: false, nowMs, completeToMs: nowMs, waitingSinceMs: undefined };
    if (after === nowCursor)
      return { ...atEnd, plants: [], next: this.#cursorAt(last), searched: 0, isFromBeginning: false };
    const seq = after === beginningCursor ? 0 : this.#followedSeq(after);
    const page = this.#readPage({ ...request, order: "oldest-first", cursor: String(seq) }, last);
    const storeId = this.#storeId();
    return {
      ...atEnd,
      plants: page.rows.map((row) => ({ ...fromRow(row), cursor: cursorOf(storeId, row) })),
      hasMore: page.next !== undefined,
      next: this.#cursorAt(page.next === undefined ? last : seqOf(page.next)),
      searched: page.searched,
      isFromBeginning: after === beginningCursor || (seq === 0 && page.searched > 0),
    };
  }

  #readPage({ filter, order, cursor, limit, searchMsMax }: PageRequest, last = lastSeq(this.#database)) {
    const scan = this.#scan(filter, order, cursor, last);
    const rows: PlantRow[] = [];
    const room = new PageRoom();
    let searched = 0;
    for (const slice of scan.slices(searchMsMax)) {
      const wanted = Math.min(limit - rows.length, rowsPerRead);
      const { found, isFull } = this.#rows(room, filter, slice, order, wanted);
      rows.push(...found);
      if (isFull && found.length === 0) break;
      // The slice may have more rows after the last that was wanted, or fits.
      const hasMore = isFull || found.length === wanted;
      searched += scan.advancePast(slice, hasMore ? found.at(-1)?.seq : undefined);
      if (isFull || rows.length === limit) break;
    }
    return { rows, next: scan.cursor, searched };
  }

  async findAll(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    return ids.flatMap((id) => this.#row(id) ?? []).map(fromRow);
  }

  async total(): Promise<number> {
    return lastSeq(this.#database);
  }

  async nowMs(): Promise<number> {
    return Date.now();
  }

  async createdPerBucket(fromMs: number, buckets: number, bucketMs: number): Promise<readonly number[]> {
    return createdPerBucket(this.#database, fromMs, buckets, bucketMs);
  }

  async count(filter: PlantFilter, cursor: string | undefined, msMax: number): Promise<MatchCount> {
    const last = lastSeq(this.#database);
    const { tag, ...others } = filter;
    // How many plants there are, and how many have a tag, is known without a scan.
    const needsScan = Object.values(others).some((value) => value !== undefined);
    if (!needsScan)
      return { plants: tag === undefined ? last : countTag(this.#database, tag), next: undefined };
    const scan = this.#scan(filter, "oldest-first", cursor, last);
    let plants = 0;
    for (const slice of scan.slices(msMax)) {
      plants += this.#countIn(filter, slice);
      scan.advancePast(slice);
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

  /** The scan for the matches after the cursor, up to the last plant. */
  #scan(filter: PlantFilter, order: Order, cursor: string | undefined, last: number): Scan {
    const { namePart } = filter;
    const range = this.#range(filter, order, cursor, last);
    if (namePart === undefined) return new Scan(range, order);
    return new Scan(range, order, (slice) => searchablePart(this.#database, namePart, slice, order));
  }

  /** The matches in a range, up to the first one that does not fit into the page; then it is full. */
  #rows(room: PageRoom, filter: PlantFilter, range: SeqRange, order: Order, limit: number) {
    const found: PlantRow[] = [];
    for (const { sql, values } of selectQueries(this.#database, filter, range, order)) {
      const query = this.#database.query<PlantRow, Query["values"][number][]>(`${sql} LIMIT ?`);
      for (const row of query.iterate(...values, limit - found.length)) {
        if (!room.take(fromRow(row))) return { found, isFull: true };
        found.push(row);
      }
    }
    return { found, isFull: false };
  }

  #countIn(filter: PlantFilter, range: SeqRange): number {
    let plants = 0;
    for (const { sql, values } of countQueries(this.#database, filter, range)) {
      const row = this.#database.query<{ plants: bigint }, Query["values"][number][]>(sql).get(...values);
      plants += Number(row?.plants ?? 0n);
    }
    return plants;
  }

  #row(id: bigint): PlantRow | null {
    return this.#database
      .query<PlantRow, [bigint]>(`SELECT ${plantColumns} FROM plants WHERE id = ?`)
      .get(id);
  }

  /** Where the matches are, after the cursor and up to the last plant. */
  #range(filter: PlantFilter, order: Order, cursor: string | undefined, last: number): SeqRange {
    const { id, sinceMs, untilMs } = filter;
    const range = rangeAfter(cursor, order, last);
    if (id !== undefined) {
      const seq = Number(this.#row(id)?.seq ?? 0n);
      return { low: Math.max(range.low, seq), high: Math.min(range.high, seq) };
    }
    if (sinceMs === undefined && untilMs === undefined) return range;
    // Times need not be in order, but mostly are: then the range from the first to the last match is small.
    const end = (from: Order) => this.#rows(new PageRoom(), { sinceMs, untilMs }, range, from, 1).found[0];
    return { low: Number(end("oldest-first")?.seq ?? 1n), high: Number(end("newest-first")?.seq ?? 0n) };
  }

  /** The cursor after the last plant up to this seq. An empty store has one too, so that whoever follows it has begun. */
  #cursorAt(seq: number): string {
    const last = this.#database
      .query<Pick<PlantRow, "seq" | "created_at_ms">, [number]>(
        "SELECT seq, created_at_ms FROM plants WHERE seq <= ? ORDER BY seq DESC LIMIT 1",
      )
      .get(seq);
    return cursorOf(this.#storeId(), last ?? { seq: 0n, created_at_ms: 0n });
  }

  #storeId(): string {
    const row = this.#database.query<{ id: string }, []>("SELECT id FROM store_id").get();
    if (row === null) throw new Damage("the store has no id");
    return row.id;
  }

  #followedSeq(cursor: string): number {
    const seq = Number(followCursor.exec(cursor)?.[2]);
    if (Number.isNaN(seq) || this.#cursorAt(seq) !== cursor) throw new StaleCursor();
    return seq;
  }
}

/**
 * The cursor has the plant's time: a file that was put back without `restore` has the same store id, but the plants that were
 * stored in it since then have other times.
 */
function cursorOf(
  storeId: string,
  { seq, created_at_ms: atMs }: Pick<PlantRow, "seq" | "created_at_ms">,
): string {
  return `${storeId}.${seq}.${atMs.toString(36)}`;
}

/** What is left of the plants 1 to `last`, after the cursor. */
function rangeAfter(cursor: string | undefined, order: Order, last: number): SeqRange {
  if (cursor === undefined) return { low: 1, high: last };
  const seq = seqOf(cursor);
  return order === "newest-first" ? { low: 1, high: Math.min(last, seq - 1) } : { low: seq + 1, high: last };
}

function seqOf(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw invalidCursorProblem();
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
