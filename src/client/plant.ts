/** An int64. A number must be a safe integer, since a larger one may already be rounded. */
export type PlantId = bigint | number | string;

export interface NewPlant {
  readonly id: PlantId;
  readonly name: string;
  readonly tag?: string | undefined;
}

/** A plant as JSON, which is sent unchanged. */
export interface PlantJson {
  readonly json: string | Uint8Array<ArrayBuffer>;
}

export interface CreatedPlant {
  readonly name: string;
  readonly tag?: string;
  /** The same plant was already stored. */
  readonly replayed: boolean;
}

const decimal = /^-?\d+$/;

/** The plant as JSON. The id is written digit by digit and never becomes a double. */
export function plantJson({ id, name, tag }: NewPlant): string {
  const rest = JSON.stringify({ name, tag }).slice(1, -1);
  // A caller without types may omit the name, and the service reports that.
  return `{"id":${exactId(id)}${rest === "" ? "" : `,${rest}`}}`;
}

function exactId(id: PlantId): string {
  if (typeof id === "bigint") return id.toString();
  if (typeof id === "number") {
    if (Number.isSafeInteger(id)) return BigInt(id).toString();
    throw new TypeError(
      `The id ${id} is not a safe integer, so it may have been rounded; pass a bigint or a decimal string.`,
    );
  }
  if (typeof id === "string" && decimal.test(id)) return BigInt(id).toString();
  throw new TypeError(
    `The id must be a bigint, a safe integer or a decimal string, not ${typeof id === "string" ? JSON.stringify(id) : typeof id}.`,
  );
}
