import { int64Max } from "../../plants/int64.ts";
import {
  beginningCursor,
  CursorProblem,
  type FollowPage,
  type FollowRequest,
  invalidCursorProblem,
  type MatchCount,
  nowCursor,
  type PageRequest,
  type PlantArchive,
  type PlantFilter,
  type PlantPage,
  pageBytesMax,
  StaleCursor,
  type StoredPlant,
} from "../../plants/plant-archive.ts";
import { minuteMs } from "../../text/duration.ts";
import { PageRoom } from "../page-room.ts";
import type { ConnectionPool, RunStatement } from "./connection-pool.ts";
import type { Row } from "./session.ts";
import { Ticks } from "./ticks.ts";

const rowsPerRead = 500;
// A plant that is committed later than this, such as one copied from another store, is missing in totals until the recount.
const countedAfterMs = 20_000;
const recountAfterMs = 10 * minuteMs;
// A copied plant may be from before 1970, if a clock was wrong.
const beforeEveryTimeMs = Number.MIN_SAFE_INTEGER;
const lastId = int64Max;

const fields = "id, name, tag, created_at_ms, created_by";
const selectTime = "SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint";

/** Where a page ends: the last plant of it. */
interface Position {
  readonly createdAtMs: number;
  readonly id: bigint;
}

/** What was found from a position on. */
interface Matches {
  readonly plants: readonly StoredPlant[];
  /** The last plant that was read, whether it matches or not; undefined before the first. */
  readonly position: Position | undefined;
  /** How many plants were read. */
  readonly searched: number;
  /** Whether there is no plant after the position. */
  readonly isEnd: boolean;
}

/** Reads PostgreSQL, always along an index from a position, never with OFFSET. */
export class PostgresArchive implements PlantArchive {
  readonly #pool: ConnectionPool;
  readonly #ticks = new Ticks();
  /**
   * How many plants have a time up to `untilMs`, and when that was first counted. Plants are never deleted, so they need not be
   * counted again each time.
   */
  #counted = { sinceMs: 0, untilMs: beforeEveryTimeMs, plants: 0 };

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  async page(request: PageRequest): Promise<PlantPage> {
    const { plants, position, searched, isEnd } = await this.#pool.inSession((run) =>
      readMatches(run, request),
    );
    return { plants, next: isEnd || position === undefined ? undefined : cursorOf(position), searched };
  }

  async pageAfter({ after, filter, limit, searchMsMax }: FollowRequest): Promise<FollowPage> {
    if (after === nowCursor) return await this.#pageFromNow();
    const start = after === beginningCursor ? undefined : parseCursor(after, new StaleCursor());
    return await this.#pool.inSession(async (run, isCitus) => {
      refuseCitus(isCitus);
      if (start !== undefined) await refuseStale(run, start);
      const { nowMs, beforeMs, waitingSinceMs } = await this.#ticks.settle(run);
      const isFromBeginning = after === beginningCursor;
      const page = { nowMs, completeToMs: beforeMs, waitingSinceMs, isFromBeginning };
      if (beforeMs === undefined) return { ...page, plants: [], next: after, hasMore: false, searched: 0 };
      const untilMs = Math.min(filter.untilMs ?? beforeMs, beforeMs);
      const order = "oldest-first";
      const request = { filter: { ...filter, untilMs }, order, cursor: after, limit, searchMsMax } as const;
      const { plants, position, searched, isEnd } = await readMatches(run, request);
      const end = isEnd ? later(start, lastBefore(beforeMs)) : position;
      return {
        ...page,
        plants: plants.map((plant) => ({ ...plant, cursor: cursorOf(plant) })),
        next: end === undefined ? after : cursorOf(end),
        hasMore: !isEnd,
        searched,
        isFromBeginning: isFromBeginning || (searched > 0 && (await isBeforeAll(run, start))),
      };
    });
  }

  /** An empty page whose cursor leads to the plants of this millisecond and later ones. */
  #pageFromNow(): Promise<FollowPage> {
    return this.#pool.inSession(async (run, isCitus) => {
      refuseCitus(isCitus);
      const { nowMs, beforeMs, waitingSinceMs } = await this.#ticks.settle(run);
      return {
        plants: [],
        next: cursorOf(lastBefore(nowMs)),
        hasMore: false,
        searched: 0,
        nowMs,
        completeToMs: beforeMs,
        waitingSinceMs,
        isFromBeginning: false,
      };
    });
  }

  async findAll(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    const rows = await this.#read(`SELECT ${fields} FROM plants WHERE id = ANY($1::bigint[])`, [ids]);
    return rows.map(fromRow);
  }

  async total(): Promise<number> {
    const nowMs = await this.nowMs();
    const settledMs = nowMs - countedAfterMs;
    const isOld = nowMs - this.#counted.sinceMs > recountAfterMs;
    // Then plants still get times up to which all were counted.
    const isClockSetBack = settledMs < this.#counted.untilMs;
    const { sinceMs, untilMs, plants } =
      isOld || isClockSetBack ? { sinceMs: nowMs, untilMs: beforeEveryTimeMs, plants: 0 } : this.#counted;
    const sql = `SELECT count(*), count(*) FILTER (WHERE created_at_ms <= $2::bigint)
        FROM plants WHERE created_at_ms > $1::bigint`;
    const [row] = await this.#read(sql, [untilMs, settledMs]);
    const [all, settled] = row ?? [];
    this.#counted = { sinceMs, untilMs: settledMs, plants: plants + Number(settled) };
    return plants + Number(all);
  }

  async nowMs(): Promise<number> {
    const [row] = await this.#read(selectTime);
    return Number(row?.[0]);
  }

  async count(filter: PlantFilter, cursor: string | undefined, msMax: number): Promise<MatchCount> {
    if (matcherOf(filter) === undefined) return { plants: await this.#countIndexed(filter), next: undefined };
    const { plants, next } = await this.page({
      filter,
      order: "oldest-first",
      cursor,
      limit: Number.POSITIVE_INFINITY,
      searchMsMax: msMax,
    });
    return { plants: plants.length, next };
  }

  async createdPerBucket(fromMs: number, buckets: number, bucketMs: number): Promise<readonly number[]> {
    const sql = `SELECT created_at_ms - $1::bigint - (created_at_ms - $1::bigint) % ${bucketMs} AS bucket, count(*)
        FROM plants WHERE created_at_ms >= $1::bigint AND created_at_ms < $2::bigint GROUP BY bucket`;
    const rows = await this.#read(sql, [fromMs, fromMs + buckets * bucketMs]);
    const counts = new Array<number>(buckets).fill(0);
    for (const [offset, count] of rows) counts[Number(offset) / bucketMs] = Number(count);
    return counts;
  }

  followersWaitSinceMs(): number | undefined {
    return this.#ticks.waitingSinceMs;
  }

  /** The server does not report the free space on its disk. */
  async diskUsage(): Promise<undefined> {
    return undefined;
  }

  /** Counts the matches of a filter that the indexes support alone. */
  async #countIndexed(filter: PlantFilter): Promise<number> {
    const conditions = indexedConditions(filter);
    if (conditions.where === "") return this.total();
    const [row] = await this.#read(`SELECT count(*) FROM plants ${conditions.where}`, conditions.values);
    return Number(row?.[0]);
  }

  #read(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.#pool.query({ text }, values);
  }
}

/** Reads plants until the page is full, or the time is over. */
async function readMatches(
  run: RunStatement,
  { filter, order, cursor, limit, searchMsMax }: PageRequest,
): Promise<Matches> {
  const deadlineMs = performance.now() + searchMsMax;
  const matches = matcherOf(filter);
  const plants: StoredPlant[] = [];
  let position =
    cursor === undefined || cursor === beginningCursor
      ? undefined
      : parseCursor(cursor, invalidCursorProblem());
  const room = new PageRoom();
  let searched = 0;
  for (;;) {
    // One more than the page holds, to know whether there is a next.
    const wanted = matches === undefined ? limit - plants.length + 1 : rowsPerRead;
    const count = Math.min(wanted, rowsPerRead);
    const { rows, isEnd } = await readRows(run, filter, order, position, count);
    for (const plant of rows) {
      if (plants.length === limit) return { plants, position, searched, isEnd: false };
      if (matches === undefined || matches(plant)) {
        if (!room.take(plant)) return { plants, position, searched, isEnd: false };
        plants.push(plant);
      }
      position = plant;
      searched++;
      // Matching long names takes long.
      if (matches !== undefined && performance.now() >= deadlineMs)
        return { plants, position, searched, isEnd: false };
    }
    // What was read fills the page, unless much of it does not match.
    const isFull = matches === undefined && rows.length < count;
    if (isEnd || isFull || performance.now() >= deadlineMs) return { plants, position, searched, isEnd };
  }
}

/**
 * Reads that many rows, but only the first of them that fit into a page, by the bytes of their texts: what follows the one with
 * which they would not is left on the server.
 */
async function readRows(
  run: RunStatement,
  filter: PlantFilter,
  order: PageRequest["order"],
  after: Position | undefined,
  count: number,
): Promise<{ readonly rows: readonly StoredPlant[]; readonly isEnd: boolean }> {
  const conditions = indexedConditions(filter);
  const isNewestFirst = order === "newest-first";
  if (after !== undefined) {
    const position = `(${conditions.bind(after.createdAtMs)}, ${conditions.bind(after.id)})`;
    conditions.add(`(created_at_ms, id) ${isNewestFirst ? "<" : ">"} ${position}`);
  }
  const orderBy = isNewestFirst ? "created_at_ms DESC, id DESC" : "created_at_ms ASC, id ASC";
  const sql = `
    SELECT ${fields}, found FROM (
      SELECT ${fields}, count(*) OVER () AS found, row_number() OVER (ORDER BY ${orderBy}) AS number,
             sum(octet_length(name) + coalesce(octet_length(tag), 0)) OVER (ORDER BY ${orderBy}) AS bytes
      FROM (SELECT ${fields} FROM plants ${conditions.where} ORDER BY ${orderBy} LIMIT ${count}) AS wanted
    ) AS counted
    WHERE number = 1 OR bytes <= ${pageBytesMax} ORDER BY ${orderBy}`;
  const rows = await run({ text: sql }, conditions.values);
  const found = Number(rows[0]?.[5] ?? 0);
  return { rows: rows.map(fromRow), isEnd: found < count && rows.length === found };
}

/**
 * The cursor of a plant leads on from that plant, which must be here with that time: otherwise the cursor is from another
 * database, from one that was put back, or from a server that lost plants. One that no plant ended is not looked up.
 * @throws StaleCursor
 */
async function refuseStale(run: RunStatement, { createdAtMs, id }: Position): Promise<void> {
  if (id === lastId) return;
  const sql = "SELECT 1 FROM plants WHERE id = $1 AND created_at_ms = $2";
  const [row] = await run({ text: sql }, [id, createdAtMs]);
  if (row === undefined) throw new StaleCursor();
}

/** @throws CursorProblem Citus commits on the workers after the coordinator's transaction has ended, so no time is ever settled. */
function refuseCitus(isCitus: boolean): void {
  if (isCitus)
    throw new CursorProblem(
      "Following is not supported on Citus: no order of its plants is known to be complete.",
    );
}

/** Only a position that no plant ended can be. */
async function isBeforeAll(run: RunStatement, position: Position | undefined): Promise<boolean> {
  if (position?.id !== lastId) return false;
  const { rows } = await readRows(run, {}, "oldest-first", undefined, 1);
  const [first] = rows;
  return first === undefined || isBefore(position, first);
}

function isBefore(one: Position, other: Position): boolean {
  return one.createdAtMs < other.createdAtMs || (one.createdAtMs === other.createdAtMs && one.id < other.id);
}

/** Whoever comes from another node may have read further than this one knows to be settled. */
function later(one: Position | undefined, other: Position): Position {
  return one === undefined || isBefore(one, other) ? other : one;
}

/** After every plant with an earlier time, and before those of this time. */
function lastBefore(timeMs: number): Position {
  return { createdAtMs: timeMs - 1, id: lastId };
}

/** What no index supports is matched here, so that it does not depend on the server's locale. */
function matcherOf({ namePart, createdBy }: PlantFilter): ((plant: StoredPlant) => boolean) | undefined {
  if (namePart === undefined && createdBy === undefined) return undefined;
  const part = namePart?.toLowerCase() ?? "";
  return (plant) =>
    plant.name.toLowerCase().includes(part) && (createdBy === undefined || plant.createdBy === createdBy);
}

/** Conditions that must all hold, and the values of $1, $2 and so on in them. */
class Conditions {
  readonly values: unknown[] = [];
  readonly #conditions: string[] = [];

  /** Adds a value, and returns its placeholder. */
  bind(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  add(condition: string): void {
    this.#conditions.push(condition);
  }

  /** The WHERE clause; empty without a condition. */
  get where(): string {
    return this.#conditions.length === 0 ? "" : `WHERE ${this.#conditions.join(" AND ")}`;
  }
}

/** The conditions of a filter that an index supports. */
function indexedConditions({ id, tag, sinceMs, untilMs }: PlantFilter): Conditions {
  const conditions = new Conditions();
  if (id !== undefined) conditions.add(`id = ${conditions.bind(id)}`);
  if (tag !== undefined) {
    // No plant has this character, and PostgreSQL rejects it in a comparison.
    const canMatch = !tag.includes("\0");
    conditions.add(canMatch ? tagIs(conditions.bind(tag)) : "false");
  }
  if (sinceMs !== undefined) conditions.add(`created_at_ms >= ${conditions.bind(sinceMs)}`);
  if (untilMs !== undefined) conditions.add(`created_at_ms < ${conditions.bind(untilMs)}`);
  return conditions;
}

/** The index has only the first 100 characters, as the size of an entry is limited. */
function tagIs(placeholder: string): string {
  return `left(tag, 100) = left(${placeholder}, 100) AND tag = ${placeholder}`;
}

function cursorOf({ createdAtMs, id }: Position): string {
  return `${createdAtMs}.${id}`;
}

/** Throws the problem if it is no cursor. */
function parseCursor(cursor: string, problem: Error): Position {
  const match = /^(-?\d{1,15})\.(-?\d{1,19})$/.exec(cursor);
  const id = BigInt(match?.[2] ?? 0);
  if (match === null || BigInt.asIntN(64, id) !== id) throw problem;
  return { createdAtMs: Number(match[1]), id };
}

function fromRow([id, name, tag, createdAtMs, createdBy]: Row): StoredPlant {
  return {
    id: BigInt(id ?? ""),
    name: name ?? "",
    tag: tag ?? undefined,
    createdAtMs: Number(createdAtMs),
    createdBy: createdBy ?? "",
  };
}
