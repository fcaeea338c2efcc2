import type { StoredPlant } from "../plants/plant-archive.ts";

/** Plants as text, a row each, such that `plant-store import` takes it back exactly. */
export interface RowFormat {
  readonly contentType: string;
  readonly header: string;
  readonly row: (plant: StoredPlant) => string;
}

export const formatNames = ["ndjson", "csv"] as const;

export const rowFormats: Readonly<Record<(typeof formatNames)[number], RowFormat>> = {
  // The id is a number, as the contract has it. It is exact in the text; what reads it must keep it so.
  ndjson: { contentType: "application/x-ndjson; charset=utf-8", header: "", row: ndjsonRow },
  csv: {
    contentType: "text/csv; charset=utf-8",
    header: "id,name,tag,created_at,created_by\r\n",
    row: csvRow,
  },
};

function ndjsonRow({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string {
  const rest = JSON.stringify({ name, tag, createdAt: new Date(createdAtMs).toISOString(), createdBy });
  return `{"id":${id},${rest.slice(1)}\n`;
}

function csvRow({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string {
  const cells = [String(id), cell(name), tag === undefined ? "" : cell(tag)];
  return `${[...cells, new Date(createdAtMs).toISOString(), cell(createdBy)].join(",")}\r\n`;
}

// An empty text is quoted, which tells an empty tag from none.
function cell(text: string): string {
  return /^[^",\r\n]+$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}
