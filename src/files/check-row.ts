import type { NewPlant } from "../plants/plant.ts";
import { readPlant } from "../plants/read-plant.ts";
import { Refusal, type RefusalKind } from "../plants/refusals.ts";
import type { InputRow } from "./input-row.ts";

/** A row as the plant that it is, or why it is refused. */
export type CheckedRow =
  | { readonly plant: NewPlant }
  | {
      readonly plant: undefined;
      /** Undefined if the row cannot even be sent. */
      readonly kind: RefusalKind | undefined;
      /** Still that of a body: `withRowPosition` makes it one of the row. */
      readonly message: string;
    };

/** Validates a row as the service would, without sending it. Only an id conflict cannot be detected here. */
export function checkRow(row: InputRow): CheckedRow {
  if (row.error !== undefined) return { plant: undefined, kind: undefined, message: row.error };
  const plant = readPlant(row.json);
  if (plant instanceof Refusal) return { plant: undefined, kind: plant.kind, message: plant.message };
  return { plant };
}
