import type { PlantFilter } from "../../../plants/plant-archive.ts";
import { names, type SummaryTable, tags, times } from "./summary-tables.ts";

/** A part of a query, and the values for its question marks. */
export interface Sql {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** A summary to join: it has one row for each block that may hold a match. */
export interface BlockChoice {
  readonly from: string;
  readonly block: string;
  readonly where: Sql;
}

/** The summaries that help with a filter, the one that is fastest to read first. */
export function blockChoices({ tag, namePart, sinceMs, untilMs }: PlantFilter): BlockChoice[] {
  const choices: BlockChoice[] = [];
  if (tag !== undefined) choices.push(choice(tags, "tag_windows.tag = ?", [tag]));
  if (sinceMs !== undefined || untilMs !== undefined)
    choices.push(
      choice(times, "max_ms >= ? AND min_ms < ?", [
        sinceMs ?? Number.MIN_SAFE_INTEGER,
        untilMs ?? Number.MAX_SAFE_INTEGER,
      ]),
    );
  if (namePart !== undefined)
    choices.push(
      choice(names, "(names IS NULL OR instr(names, ?) > 0)", [longestAscii(namePart).toLowerCase()]),
    );
  return choices;
}

function choice({ table, block }: SummaryTable, sql: string, values: Sql["values"]): BlockChoice {
  return { from: table, block: `${table}.${block}`, where: { sql, values } };
}

/** The longest piece of it that is ASCII, since lower() leaves other letters as they are. Empty if there is none. */
function longestAscii(part: string): string {
  const pieces = part.match(/[\x20-\x7e]+/g) ?? [];
  return pieces.reduce((longest, piece) => (piece.length > longest.length ? piece : longest), "");
}
