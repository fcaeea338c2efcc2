/** An int64. A number must be a safe integer, since a larger one has been rounded already. */
export type PlantId = bigint | number | string;

export interface NewPlant {
  readonly id: PlantId;
  readonly name: string;
  readonly tag?: string | undefined;
}

/** A plant whose JSON is at hand, to be sent as it is. */
export interface PlantJson {
  readonly json: string | Uint8Array<ArrayBuffer>;
}

export interface CreatedPlant {
  readonly name: string;
  readonly tag?: string;
  /** The same plant was stored already. */
  readonly replayed: boolean;
}

const decimal = /^-?\d+$/;

/** The plant as JSON, with the id as a number written digit by digit and never through a double. */
export function jsonOf({ id, name, tag }: NewPlant): string {
  const rest = JSON.stringify({ name, tag }).slice(1, -1);
  // A caller without types may leave the name out, and the service should be the one to say so.
  return `{"id":${exactId(id)}${rest === "" ? "" : `,${rest}`}}`;
}

function exactId(id: PlantId): string {
  if (typeof id === "bigint") return id.toString();
  if (typeof id === "number") {
    if (Number.isSafeInteger(id)) return BigInt(id).toString();
    throw new TypeError(
      `The id ${id} is not a safe integer, so it may have been rounded; give it as a bigint or a decimal string.`,
    );
  }
  if (typeof id === "string" && decimal.test(id)) return BigInt(id).toString();
  throw new TypeError(
    `The id must be a bigint, a safe integer or a decimal string, but is ${typeof id === "string" ? JSON.stringify(id) : typeof id}.`,
  );
}
