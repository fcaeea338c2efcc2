/** The contract's `Plant`: what the client gets back. */
export interface Plant {
  readonly name: string;
  readonly tag: string | undefined;
}

/** A plant as a client sends it, `NewPlant` in the contract. The id is a bigint so that every int64 stays exact. */
export interface NewPlant extends Plant {
  readonly id: bigint;
}

/** The fields in which two plants with the same id can differ. */
export type PlantField = "name" | "tag";

export function differingFields(one: Plant, other: Plant): PlantField[] {
  const fields: PlantField[] = [];
  if (one.name !== other.name) fields.push("name");
  if (one.tag !== other.tag) fields.push("tag");
  return fields;
}
