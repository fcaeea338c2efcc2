import type { StoredPlant } from "../../../plants/plant-archive.ts";

export interface PlantRow {
  seq: bigint;
  id: bigint;
  name: string;
  tag: string | null;
  created_at_ms: bigint;
  created_by: string;
}

export type Direction = "ASC" | "DESC";

/** The plants with seq `low` to `high`, both inclusive. */
export interface SeqRange {
  low: number;
  high: number;
}

export const allColumns = "plants.seq, id, name, plants.tag, created_at_ms, created_by";

export function fromRow(row: PlantRow): StoredPlant {
  return {
    id: row.id,
    name: row.name,
    tag: row.tag ?? undefined,
    createdAtMs: Number(row.created_at_ms),
    createdBy: row.created_by,
  };
}
