import type { NewPlant } from "./plant.ts";
import type { PlantToStore } from "./plant-store.ts";

/** A plant as it is stored. */
export interface StoredPlant extends NewPlant {
  readonly createdAtMs: number;
  /** The name of the token that sent it. */
  readonly createdBy: string;
}

/** The plant as one to be stored elsewhere, with its time and creator. */
export function plantToStore(plant: StoredPlant): PlantToStore {
  return { plant, createdBy: plant.createdBy, createdAtMs: plant.createdAtMs };
}

/** Selects the plants that match every condition given. */
export interface PlantFilter {
  readonly id?: bigint | undefined;
  readonly tag?: string | undefined;
  /** Any part of the name, case-insensitive. */
  readonly namePart?: string | undefined;
  readonly createdBy?: string | undefined;
  readonly sinceMs?: number | undefined;
  /** Exclusive: a plant of exactly this time does not match. */
  readonly untilMs?: number | undefined;
}

export interface PageRequest {
  readonly filter: PlantFilter;
  readonly order: "newest-first" | "oldest-first";
  /** Where an earlier page ended; undefined for the first. */
  readonly cursor: string | undefined;
  readonly limit: number;
  /** A search returns what it has found after this time, with a cursor to continue from. */
  readonly searchMsMax: number;
}

export interface PlantPage {
  readonly plants: readonly StoredPlant[];
  /** The cursor of the next page; undefined at the end. A page may be short, or empty, and still not be the last. */
  readonly next: string | undefined;
  /** How many plants were passed to fill it, whether they were read or their block was skipped. */
  readonly searched: number;
}

/** A page ends before the plant with which its response would be larger, to bound memory and time: then it is short. */
export const pageBytesMax = 4 * 1024 * 1024;

/** The cursor of the beginning, for `pageAfter`. */
export const beginningCursor = "0";
/** The cursor of this moment, for `pageAfter`: the page is empty, and its `next` leads to what is stored from now on. */
export const nowCursor = "now";

export interface FollowRequest extends Pick<PageRequest, "filter" | "limit" | "searchMsMax"> {
  /** The `next` of an earlier page, the cursor of a plant on one, the beginning, or now. */
  readonly after: string;
}

/** A plant on a page of `pageAfter`. */
export interface FollowedPlant extends StoredPlant {
  /** What follows this plant comes after this cursor. */
  readonly cursor: string;
}

export interface FollowPage {
  readonly plants: readonly FollowedPlant[];
  /** The cursor of the next page, even after an empty one. */
  readonly next: string;
  /** Whether the next page can be read at once; otherwise this one is the last for now. A page may be short and not the last. */
  readonly hasMore: boolean;
  /** How many plants were passed to fill it, whether they were read or their block was skipped. */
  readonly searched: number;
  /** When it was read, by the clock that plants have their times from. */
  readonly nowMs: number;
  /** No plant that was stored before this time, by that clock, will still come after its `next`. Undefined if that is not known yet. */
  readonly completeToMs: number | undefined;
  /** Since when plants have been waiting for a transaction that is older than they are; undefined up to two seconds. */
  readonly waitingSinceMs: number | undefined;
  /**
   * Whether the client reads the store from its beginning: with the cursor of the beginning, or with one that no plant precedes,
   * unless there is nothing to read yet.
   */
  readonly isFromBeginning: boolean;
}

export interface MatchCount {
  readonly plants: number;
  /** Where to continue counting; undefined at the end. */
  readonly next: string | undefined;
}

// How often a full scan yields a page, so that its caller can report progress, and other reads come in between.
const scanPageMsMax = 400;

/** A cursor that is not valid. */
export class CursorProblem extends Error {
  override readonly name = "CursorProblem";
}

/** The error for a cursor that no page of this archive has returned. */
export function invalidCursorProblem(): CursorProblem {
  return new CursorProblem("The cursor is not from a page of this store.");
}

/** The cursor belongs to another store, perhaps of the other engine, or to this one before it was restored. */
export class StaleCursor extends Error {
  override readonly name = "StaleCursor";
}

export interface DiskUsage {
  readonly bytes: number;
  readonly walBytes: number;
  readonly diskFreeBytes: number;
}

/** Reads the stored plants, for operators. Never on the path of a create. */
export interface PlantArchive {
  /**
   * One page, in the order in which plants were stored. Plants stored between two pages neither repeat nor skip others.
   * @throws CursorProblem
   */
  page(request: PageRequest): Promise<PlantPage>;
  /**
   * What was stored after the cursor, each plant exactly once, in one order: that of storing on SQLite, that of time and id on
   * PostgreSQL.
   * @throws StaleCursor; CursorProblem where nobody can follow
   */
  pageAfter(request: FollowRequest): Promise<FollowPage>;
  /** The plants with these ids, if they exist, in any order. */
  findAll(ids: readonly bigint[]): Promise<readonly StoredPlant[]>;
  total(): Promise<number>;
  /** The time of the clock that new plants have their times from. */
  nowMs(): Promise<number>;
  /**
   * How many plants match, counted for at most about that long, from where an earlier count ended.
   * @throws CursorProblem
   */
  count(filter: PlantFilter, cursor: string | undefined, msMax: number): Promise<MatchCount>;
  /** How many were stored in each of that many buckets of `bucketMs`, starting at `fromMs`. */
  createdPerBucket(fromMs: number, buckets: number, bucketMs: number): Promise<readonly number[]>;
  /** Since when followers wait for a transaction on the server; undefined if they do not, or if nobody follows. */
  followersWaitSinceMs?(): number | undefined;
  /** The sizes of the data file and its WAL, and the free space on their disk, if the engine knows them. */
  diskUsage(): Promise<DiskUsage | undefined>;
}

/** All plants that match the filter, page by page. */
export async function* pagesOf(
  archive: Pick<PlantArchive, "page">,
  filter: PlantFilter,
  limit: number,
  order: PageRequest["order"] = "oldest-first",
): AsyncGenerator<PlantPage, void, void> {
  let cursor: string | undefined;
  do {
    const page = await archive.page({ filter, order, cursor, limit, searchMsMax: scanPageMsMax });
    yield page;
    cursor = page.next;
  } while (cursor !== undefined);
}
