import type { PlantField } from "./plant.ts";

/** Everything that can be wrong with a plant that was sent. The list is closed; the HTTP layer maps each to its code. */
export type PlantRefusalKind =
  | "body-empty"
  | "not-json"
  | "not-text"
  | "not-an-object"
  | "name-repeated"
  | "field-missing"
  | "wrong-type"
  | "not-int64"
  | "holds-nul"
  | "id-conflict";

/**
 * Why a plant was refused, worded for the sender. It is a value: whatever another module calls returns it. Only inside this
 * folder is it thrown too, out of the depth of a JSON text, and caught where the reading began.
 */
export class PlantRefusal {
  readonly kind: PlantRefusalKind;
  readonly message: string;
  /** The message without what differs from plant to plant, so that refusals can be grouped by it. */
  readonly reason: string;
  /** Where in the text it is, as `formatPosition` writes it in the message; undefined if it concerns no one place. */
  readonly position: TextPosition | undefined;

  constructor(kind: PlantRefusalKind, message: string, reason = message, position?: TextPosition) {
    this.kind = kind;
    this.message = message;
    this.reason = reason;
    this.position = position;
  }
}

/** A place in a text; both are counted from 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

export function formatPosition({ line, column }: TextPosition): string {
  return `line ${line}, column ${column}`;
}

/** The refusal of an id that belongs to a plant that differs in these fields. */
export function idConflictRefusal(id: bigint, differing: readonly PlantField[]): PlantRefusal {
  const belongs = `already belongs to a plant with a different ${differing.join(" and a different ")}.`;
  return new PlantRefusal("id-conflict", `The id ${id} ${belongs}`, `The id ${belongs}`);
}
