import type { PlantPage, StoredPlant } from "../plants/plant-archive.ts";
import { formatJson } from "../text/json-text.ts";
import { isoTime } from "../text/time.ts";
import { quotedCell, safeCell } from "./formula-escape.ts";

/** How an export is written, one row per plant, such that `plant-store import` reads back exactly what was exported. */
export interface ExportFormat {
  readonly contentType: string;
  readonly extension: string;
  readonly header: string;
  readonly row: (plant: StoredPlant) => string;
  /** What stands between two rows, if they have no end of their own. */
  readonly separator: string;
  readonly footer: string;
}

// A client of the service must read each piece in time.
const pieceCharacters = 262_144;

export const exportFormatNames = ["ndjson", "json", "csv", "csv-safe"] as const;

const lines = { separator: "", footer: "" };
const csv = { ...lines, contentType: "text/csv; charset=utf-8", extension: "csv" };

export const exportFormats: Readonly<Record<(typeof exportFormatNames)[number], ExportFormat>> = {
  // The id is a number, as in the contract. It is exact in the text; a reader must not round it.
  ndjson: {
    contentType: "application/x-ndjson; charset=utf-8",
    extension: "ndjson",
    ...lines,
    header: "",
    row: (plant) => `${formatJsonObject(plant)}\n`,
  },
  json: {
    contentType: "application/json; charset=utf-8",
    extension: "json",
    header: "[\n",
    row: formatJsonObject,
    separator: ",\n",
    footer: "\n]\n",
  },
  csv: { ...csv, header: "id,name,tag,created_at,created_by\r\n", row: (plant) => csvRow(plant, cell) },
  // This one is for spreadsheets. Its own column names tell import to remove the apostrophes again.
  "csv-safe": {
    ...csv,
    header: "id,safe_name,safe_tag,created_at,safe_created_by\r\n",
    row: (plant) => csvRow(plant, safeCell),
  },
};

/** The text of an export, in pieces of about `pieceCharacters`, or of one page if that is less. */
export async function* exportText(
  pages: AsyncIterable<Pick<PlantPage, "plants">>,
  { header, row, separator, footer }: ExportFormat,
): AsyncGenerator<string, void, void> {
  let piece = header;
  let before = "";
  for await (const { plants } of pages) {
    for (const plant of plants) {
      piece += before + row(plant);
      before = separator;
      if (piece.length < pieceCharacters) continue;
      yield piece;
      piece = "";
    }
    yield piece;
    piece = "";
  }
  yield piece + footer;
}

function formatJsonObject({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string {
  const rest = formatJson({ name, tag, createdAt: isoTime(createdAtMs), createdBy });
  return `{"id":${id},${rest.slice(1)}`;
}

function csvRow(
  { id, name, tag, createdAtMs, createdBy }: StoredPlant,
  toCell: (text: string) => string,
): string {
  const cells = [String(id), toCell(name), tag === undefined ? "" : toCell(tag)];
  return `${[...cells, isoTime(createdAtMs), toCell(createdBy)].join(",")}\r\n`;
}

/** An empty text is quoted, which distinguishes an empty tag from no tag. */
function cell(text: string): string {
  return /^[^",\r\n]+$/.test(text) ? text : quotedCell(text);
}
