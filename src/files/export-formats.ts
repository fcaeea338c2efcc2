import { jsonText } from "../plants/json-text.ts";
import type { StoredPlant } from "../plants/plant-archive.ts";
import { escapeFormulas } from "./formula-escape.ts";

/** How an export is written, one row per plant, such that `plant-store import` reads back exactly what was exported. */
export interface ExportFormat {
  readonly contentType: string;
  readonly extension: string;
  readonly header: string;
  readonly row: (plant: StoredPlant) => string;
}

export const exportFormatNames = ["ndjson", "csv", "csv-safe"] as const;

const csv = { contentType: "text/csv; charset=utf-8", extension: "csv" };

export const exportFormats: Readonly<Record<(typeof exportFormatNames)[number], ExportFormat>> = {
  // The id is a number, as the contract has it. It is exact in the text; a reader must not round it.
  ndjson: {
    contentType: "application/x-ndjson; charset=utf-8",
    extension: "ndjson",
    header: "",
    row: ndjsonRow,
  },
  csv: { ...csv, header: "id,name,tag,created_at,created_by\r\n", row: (plant) => csvRow(plant, cell) },
  // For spreadsheets. Its own column names tell import to remove the apostrophes again.
  "csv-safe": {
    ...csv,
    header: "id,safe_name,safe_tag,created_at,safe_created_by\r\n",
    row: (plant) => csvRow(plant, safeCell),
  },
};

function ndjsonRow({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string {
  const rest = jsonText({ name, tag, createdAt: new Date(createdAtMs).toISOString(), createdBy });
  return `{"id":${id},${rest.slice(1)}\n`;
}

function csvRow(
  { id, name, tag, createdAtMs, createdBy }: StoredPlant,
  toCell: (text: string) => string,
): string {
  const cells = [String(id), toCell(name), tag === undefined ? "" : toCell(tag)];
  return `${[...cells, new Date(createdAtMs).toISOString(), toCell(createdBy)].join(",")}\r\n`;
}

// An empty text is quoted, which distinguishes an empty tag from no tag.
function cell(text: string): string {
  return /^[^",\r\n]+$/.test(text) ? text : quoted(text);
}

function safeCell(text: string): string {
  return quoted(escapeFormulas(text));
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
