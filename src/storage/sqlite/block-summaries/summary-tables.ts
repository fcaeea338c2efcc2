import type { Database } from "bun:sqlite";

/**
 * How many plants a block has: block 0 is seq 1 to 1024, and so on. Every full block has summaries of its tags, names and
 * times. The tables of the first migration call a block a window.
 */
export const blockPlants = 1024;

/** A summary: its table, and how its rows are computed from the plants of one block. */
export interface SummaryTable {
  readonly of: string;
  readonly table: string;
  /** The column with the number of the block. */
  readonly block: string;
  readonly columns: string;
  readonly computed: string;
  /** Where a block has a row for each value instead of one. */
  readonly groupBy?: string;
}

// Names that are longer than this on average are not summarised: reading the plants is as fast.
const namesCharactersMax = 128 * blockPlants;

export const tags: SummaryTable = {
  of: "tags",
  table: "tag_windows",
  block: "window",
  columns: "tag, plants",
  computed: "tag, count(*)",
  groupBy: "tag",
};
export const names: SummaryTable = {
  of: "names",
  table: "name_windows",
  block: "window",
  columns: "names",
  computed: `CASE WHEN sum(length(name)) <= ${namesCharactersMax} THEN group_concat(lower(name), char(10)) END`,
};
export const times: SummaryTable = {
  of: "times",
  table: "block_times",
  block: "block",
  columns: "min_ms, max_ms",
  computed: "min(created_at_ms), max(created_at_ms)",
};

/** The seq of the last plant in a block with summaries, as SQL. */
export const lastSummarisedSql = "(SELECT seq FROM windows_end)";
export const moveLastSummarisedSql = "UPDATE windows_end SET seq = ?";

export function lastSummarised(database: Database): number {
  return Number(database.query<{ seq: bigint }, []>(`SELECT ${lastSummarisedSql} AS seq`).get()?.seq ?? 0n);
}
