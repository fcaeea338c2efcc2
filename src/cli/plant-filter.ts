import type { PlantFilter } from "../plants/plant-archive.ts";
import { parseTimeOrAge } from "../text/parsers.ts";
import { flag, once } from "./command.ts";

/** The flags of every command that reads plants. */
export const filterFlags = {
  tag: once(flag("TAG", "only plants with exactly this tag", String)),
  name: once(flag("TEXT", "only plants whose name contains this, ignoring case", String)),
  token: once(flag("NAME", "only plants created with the token of this name", String)),
  since: once(
    flag(
      "TIME",
      "only plants stored at or after this time, such as 2026-11-15T09:30Z, or 7d for the last 7 days",
      parseTimeOrAge,
    ),
  ),
  until: once(flag("TIME", "only plants stored before this time", parseTimeOrAge)),
};

type FilterValues = {
  readonly [Name in keyof typeof filterFlags]: ReturnType<(typeof filterFlags)[Name]["read"]>;
};

export function filterOf({ tag, name, token, since, until }: FilterValues): PlantFilter {
  return { tag, namePart: name || undefined, createdBy: token, sinceMs: since, untilMs: until };
}
