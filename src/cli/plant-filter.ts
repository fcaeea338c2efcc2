import type { PlantFilter } from "../plants/plant-archive.ts";
import { parseTime } from "../text/parsers.ts";
import { readFlag } from "./arguments.ts";
import type { Arguments, Flag } from "./command.ts";

/** The flags of every command that reads plants. */
export const filterFlags: Readonly<Record<string, Flag>> = {
  tag: { placeholder: "TAG", help: "only plants with exactly this tag" },
  name: { placeholder: "TEXT", help: "only plants whose name contains this, ignoring case" },
  token: { placeholder: "NAME", help: "only plants created with the token of this name" },
  since: {
    placeholder: "TIME",
    help: "only plants stored at or after this time, such as 2026-11-15T09:30Z (UTC unless it has an offset)",
  },
  until: { placeholder: "TIME", help: "only plants stored before this time" },
};

/** @throws UsageError */
export function readFilterFlags(args: Arguments): PlantFilter {
  return {
    tag: args.value("tag"),
    namePart: args.value("name") || undefined,
    createdBy: args.value("token"),
    sinceMs: readFlag(args, "since", parseTime),
    untilMs: readFlag(args, "until", parseTime),
  };
}
