import type { NewPlant } from "./plant.ts";

/** A plant as it is kept. */
export interface StoredPlant extends NewPlant {
  readonly createdAtMs: number;
  /** The name of the token that sent it. */
  readonly createdBy: string;
}

/** Which plants are meant: those for which everything given holds. */
export interface PlantFilter {
  readonly id?: bigint | undefined;
  readonly tag?: string | undefined;
  /** Any part of the name, whatever the case of its letters. */
  readonly namePart?: string | undefined;
  readonly createdBy?: string | undefined;
  readonly sinceMs?: number | undefined;
  /** The first moment that is too late. */
  readonly untilMs?: number | undefined;
}

export interface PageRequest {
  readonly filter: PlantFilter;
  readonly order: "newest-first" | "oldest-first";
  /** Where an earlier page ended; undefined for the first. */
  readonly cursor: string | undefined;
  readonly limit: number;
  /** A search that finds little gives back what it has after so long, with the place to go on from. */
  readonly searchMsMax: number;
}

export interface PlantPage {
  readonly plants: readonly StoredPlant[];
  /** Where to go on; undefined at the end. The page may be short, or empty, and still not be the last. */
  readonly next: string | undefined;
  /** How many plants were looked through to fill it. */
  readonly searched: number;
}

export interface TagCount {
  readonly tag: string;
  readonly plants: number;
}

export interface Arrivals {
  /** The oldest first. */
  readonly plants: readonly StoredPlant[];
  readonly cursor: string;
}

// Whoever walks through all of it hears this often how far a search has come.
const walkMsMax = 1000;

/** A cursor that no page gave. */
export class CursorProblem extends Error {
  override readonly name = "CursorProblem";
}

/** Looking into the store, for the people who run it. Never on the path of a create. */
export interface DiskUsage {
  readonly bytes: number;
  readonly walBytes: number;
  readonly diskFreeBytes: number;
}

export interface PlantArchive {
  /**
   * One page, in the order in which plants were stored. Plants that come in between neither repeat nor skip others.
   * @throws CursorProblem
   */
  page(request: PageRequest): Promise<PlantPage>;
  find(id: bigint): Promise<StoredPlant | undefined>;
  /** Those of the ids that there are, in any order. */
  findAll(ids: readonly bigint[]): Promise<readonly StoredPlant[]>;
  total(): Promise<number>;
  /** How many were stored in each of so many minutes from that moment on. */
  createdPerMinute(fromMs: number, minutes: number): Promise<readonly number[]>;
  /** The tags that most plants have. May take seconds on a large store. */
  topTags(limit: number): Promise<readonly TagCount[]>;
  /** What was stored since the cursor, each plant at least once; without a cursor, nothing but the present place. */
  arrivedSince(cursor: string | undefined, limit: number): Promise<Arrivals>;
  /** The sizes of the data file and its WAL, and what is free on their disk, where the engine can tell. */
  diskUsage(): Promise<DiskUsage | undefined>;
}

/** All that the filter lets through, the oldest first, page by page. */
export async function* pagesOf(
  archive: PlantArchive,
  filter: PlantFilter,
  limit: number,
): AsyncGenerator<PlantPage, void, void> {
  let cursor: string | undefined;
  do {
    const page = await archive.page({ filter, order: "oldest-first", cursor, limit, searchMsMax: walkMsMax });
    yield page;
    cursor = page.next;
  } while (cursor !== undefined);
}
