import { int64Rule, tryParseInt64 } from "../plants/int64.ts";
import type { StoredPlant } from "../plants/plant-archive.ts";
import { InvalidValue } from "../text/parsers.ts";
import { isoTime } from "../text/time.ts";

/** A plant as the operator API and `--json` return it. JSON omits a tag that is undefined. */
export interface StoredPlantJson {
  /** The id in decimal, as a string, so that no reader rounds it. */
  readonly id: string;
  readonly name: string;
  readonly tag: string | undefined;
  readonly createdAt: string;
  readonly createdBy: string;
}

/** The id as text: a parameter of the operator API, or an argument of a command. */
export function parseId(text: string): bigint {
  const id = tryParseInt64(text);
  if (id === undefined) throw new InvalidValue(int64Rule(text));
  return id;
}

export function presentPlant({ id, name, tag, createdAtMs, createdBy }: StoredPlant): StoredPlantJson {
  return { id: String(id), name, tag, createdAt: isoTime(createdAtMs), createdBy };
}
