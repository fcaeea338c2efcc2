// Plants as a store gets them, and as a data file has them.
import { Database } from "bun:sqlite";
import type { Outcome, PlantToStore } from "../../src/plants/plant-store.ts";

export interface PlantRow {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  readonly created_at_ms: bigint;
  readonly created_by: string;
}

/** A plant as a store gets it. */
export function testPlant(
  id: bigint | number,
  name = "fern",
  {
    tag,
    createdBy = "test",
    createdAtMs,
  }: {
    readonly tag?: string | undefined;
    readonly createdBy?: string;
    readonly createdAtMs?: number;
  } = {},
): PlantToStore {
  return { plant: { id: BigInt(id), name, tag }, createdBy, createdAtMs };
}

/** A plant for each of these ids, all with the same name. */
export function testPlants(ids: readonly number[], name?: string): PlantToStore[] {
  return ids.map((id) => testPlant(id, name));
}

/** The kind of each plant's result. */
export function kindsOf(outcomes: readonly Outcome[]): string[] {
  return outcomes.map(({ kind }) => kind);
}

/** The plants in the data file, read through a separate connection. */
export function storedPlants(file: string): PlantRow[] {
  using database = new Database(file, { readonly: true, safeIntegers: true });
  return database
    .query<PlantRow, []>("SELECT id, name, tag, created_at_ms, created_by FROM plants ORDER BY id")
    .all();
}

/** Those of these ids that no plant in the data file has. */
export function missingIn(file: string, ids: readonly number[]): number[] {
  const stored = new Set(storedPlants(file).map(({ id }) => Number(id)));
  return ids.filter((id) => !stored.has(id));
}
