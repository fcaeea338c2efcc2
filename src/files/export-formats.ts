import { jsonText } from "../plants/json-text.ts";
import type { StoredPlant } from "../plants/plant-archive.ts";

/** How an export is written, one row per plant, such that `plant-store import` reads back exactly what was exported. */
export interface ExportFormat {
  readonly contentType: string;
  readonly header: string;
  readonly row: (plant: StoredPlant) => string;
}

export const exportFormatNames = ["ndjson", "csv"] as const;

export const exportFormats: Readonly<Record<(typeof exportFormatNames)[number], ExportFormat>> = {
  // The id is a number, as the contract has it. It is exact in the text; a reader must not round it.
  ndjson: { contentType: "application/x-ndjson; charset=utf-8", header: "", row: ndjsonRow },
  csv: {
    contentType: "text/csv; charset=utf-8",
    header: "id,name,tag,created_at,created_by\r\n",
    row: csvRow,
  },
};

function ndjsonRow({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string {
  const rest = jsonText({ name, tag, createdAt: new Date(createdAtMs).toISOString(), createdBy });
  return `{"id":${id},${rest.slice(1)}\n`;
}

function csvRow({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string {
  const cells = [String(id), cell(name), tag === undefined ? "" : cell(tag)];
  return `${[...cells, new Date(createdAtMs).toISOString(), cell(createdBy)].join(",")}\r\n`;
}

// An empty text is quoted, which distinguishes an empty tag from no tag.
function cell(text: string): string {
  return /^[^",\r\n]+$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}
