import { readConfig } from "../config/read-config.ts";
import { parseCount } from "../config/values.ts";
import { presentPlant } from "../files/present-plant.ts";
import { parseInt64 } from "../plants/int64.ts";
import type { StoredPlant } from "../plants/plant-archive.ts";
import { openArchive } from "../storage/open-store.ts";
import { parseFlag } from "./arguments.ts";
import type { Command } from "./command.ts";
import { filterFlags, parseFilter } from "./plant-filter.ts";
import { formatCount } from "./progress-line.ts";
import { escapeInvisible, formatColumns, printJson, UsageError } from "./terminal.ts";

const limitDefault = 20;
const limitMax = 100_000;
const pageMax = 1000;
const searchMsMax = 1000;
const nameColumnsMax = 60;
const tagColumnsMax = 30;

export const list: Command = {
  usage: "list",
  summary: "list plants, newest first",
  examples: [
    "plant-store list",
    "plant-store list --tag indoor --limit 100",
    "plant-store list --name fern --json",
  ],
  flags: {
    ...filterFlags,
    limit: { placeholder: "COUNT", help: `the maximum number of plants (${limitDefault})` },
    oldest: { help: "list the oldest first" },
    json: { help: "print JSON, with ids as strings" },
  },
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    const filter = parseFilter(args);
    const limit = parseFlag(args, "limit", (text) => parseCount(text, 1, limitMax)) ?? limitDefault;
    const order = args.has("oldest") ? "oldest-first" : "newest-first";
    await using opened = await openArchive(readConfig(args.sources));
    const plants: StoredPlant[] = [];
    let cursor: string | undefined;
    do {
      const pageLimit = Math.min(pageMax, limit - plants.length);
      const page = await opened.archive.page({ filter, order, cursor, limit: pageLimit, searchMsMax });
      plants.push(...page.plants);
      cursor = page.next;
    } while (cursor !== undefined && plants.length < limit);
    if (args.has("json")) printJson(terminal, plants.map(presentPlant));
    else if (plants.length === 0) terminal.note("No plants match.\n");
    else terminal.out(`${formatColumns([["ID", "NAME", "TAG", "STORED", "BY"], ...plants.map(cells)])}\n`);
    if (cursor !== undefined && !args.has("json"))
      terminal.note(
        `${plants.length === 1 ? "This is the first one" : `These are the first ${formatCount(plants.length)}`}. Use --limit to list more, or export for all.\n`,
      );
    return 0;
  },
};

export const show: Command = {
  usage: "show ID",
  positional: "required",
  summary: "show one plant",
  examples: ["plant-store show 9007199254740993", "plant-store show -5 --json"],
  flags: { json: { help: "print JSON, with the id as a string" } },
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    const id = parseId(args.positional);
    await using opened = await openArchive(readConfig(args.sources));
    const plant = await opened.archive.find(id);
    if (plant === undefined) {
      terminal.err(`plant-store: no plant has the id ${id}.\n`);
      return 1;
    }
    if (args.has("json")) printJson(terminal, presentPlant(plant));
    else terminal.out(`${formatColumns(details(plant))}\n`);
    return 0;
  },
};

function cells({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string[] {
  const stored = new Date(createdAtMs).toISOString().replace(/\.\d+Z$/, "Z");
  return [
    String(id),
    escapeInvisible(name, nameColumnsMax),
    escapeInvisible(tag ?? "", tagColumnsMax),
    stored,
    escapeInvisible(createdBy),
  ];
}

function details({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string[][] {
  return [
    ["id", String(id)],
    ["name", escapeInvisible(name)],
    ...(tag === undefined ? [] : [["tag", escapeInvisible(tag)]]),
    ["stored", new Date(createdAtMs).toISOString()],
    ["by", escapeInvisible(createdBy)],
  ];
}

function parseId(text: string): bigint {
  const id = parseInt64(text);
  if (id !== undefined) return id;
  throw new UsageError(
    `an id must be an integer from -9223372036854775808 to 9223372036854775807; it is "${text}"`,
  );
}
