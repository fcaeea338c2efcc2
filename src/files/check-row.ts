import type { NewPlant } from "../plants/plant.ts";
import { readPlant } from "../plants/read-plant.ts";
import { PlantRefusal } from "../plants/refusals.ts";
import { aboutRow, type InputRow, type RowProblem, rowProblem } from "./input-row.ts";

/** A row as the plant that it is, or why it is refused. */
export type CheckedRow = { readonly plant: NewPlant } | (RowProblem & { readonly plant: undefined });

/** Validates a row as the service would, without sending it. Only an id conflict cannot be detected here. */
export function checkRow(row: InputRow): CheckedRow {
  if (row.problem !== undefined) return { plant: undefined, ...row.problem };
  const plant = readPlant(row.json);
  if (!(plant instanceof PlantRefusal)) return { plant };
  return { plant: undefined, ...rowProblem(plant, row) };
}

/**
 * What the service said about a row that was sent to POST /plants, as a message about the row. The contract's Error body has no
 * position, but the parser of the service, which is also here, knows it. If another version of it means another position, the
 * message stays as it is.
 */
export function answerAboutRow(message: string, row: InputRow): string {
  const refusal = readPlant(row.json);
  return aboutRow(message, refusal instanceof PlantRefusal ? refusal.position : undefined, row);
}
