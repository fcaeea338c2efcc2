import { readConfig } from "../config/read-config.ts";
import { parseInt64 } from "../plants/int64.ts";
import type { PlantArchive, PlantFilter } from "../plants/plant-archive.ts";
import { openArchive } from "../storage/open-store.ts";
import { type Arguments, type Flag, sources } from "./flags.ts";
import { Misuse, type Terminal } from "./terminal.ts";

/** The flags that choose plants, for every command that reads them. */
export const filterFlags: Readonly<Record<string, Flag>> = {
  tag: { placeholder: "TAG", help: "only plants with just this tag" },
  name: { placeholder: "TEXT", help: "only plants with this in their name, in any case of letters" },
  token: { placeholder: "NAME", help: "only plants sent with the token of this name" },
  since: { placeholder: "TIME", help: "only plants stored then or later, such as 2026-11-15T09:30Z" },
  until: { placeholder: "TIME", help: "only plants stored before" },
};

export function readFilter(args: Arguments): PlantFilter {
  return {
    tag: args.value("tag"),
    namePart: args.value("name") || undefined,
    createdBy: args.value("token"),
    sinceMs: time(args, "since"),
    untilMs: time(args, "until"),
  };
}

export function readId(text: string): bigint {
  const id = parseInt64(text);
  if (id === undefined)
    throw new Misuse(
      `an id is a whole number from -9223372036854775808 to 9223372036854775807; it is "${text}"`,
    );
  return id;
}

export async function withArchive(
  args: Arguments,
  terminal: Terminal,
  work: (archive: PlantArchive) => Promise<number>,
): Promise<number> {
  await using opened = await openArchive(readConfig(sources(args, terminal)));
  return await work(opened.archive);
}

function time(args: Arguments, flag: string): number | undefined {
  const text = args.value(flag);
  if (text === undefined) return undefined;
  const timeMs = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (Number.isNaN(timeMs))
    throw new Misuse(`--${flag} takes a time such as 2026-11-15 or 2026-11-15T09:30Z; it is "${text}"`);
  return timeMs;
}
