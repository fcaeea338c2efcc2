import { InvalidValue, parseCount } from "../config/values.ts";
import { presentPlant } from "../files/present-plant.ts";
import type { StoredPlant } from "../plants/plant-archive.ts";
import type { Command } from "./command.ts";
import { filterFlags, readFilter, readId, withArchive } from "./plant-filter.ts";
import { grouped } from "./progress-line.ts";
import { columns, Misuse, visible } from "./terminal.ts";

const limitStandard = "20";
const limitMax = 100_000;
const pageMax = 1000;
const searchMsMax = 1000;
const nameCharactersMax = 60;
const tagCharactersMax = 30;

export const list: Command = {
  usage: "list",
  summary: "list plants, the newest first",
  examples: [
    "plant-store list",
    "plant-store list --tag indoor --limit 100",
    "plant-store list --name fern --json",
  ],
  flags: {
    ...filterFlags,
    limit: { placeholder: "COUNT", help: `how many at most (${limitStandard})` },
    oldest: { placeholder: undefined, help: "the oldest first" },
    json: { placeholder: undefined, help: "print JSON; ids are strings there" },
  },
  settings: ["database", "allowUnsafeDatabase"],
  run(args, terminal) {
    if (args.words.length > 0) throw new Misuse(`"${args.words[0]}" is not expected here`);
    const filter = readFilter(args);
    const limit = readLimit(args.value("limit") ?? limitStandard);
    const order = args.has("oldest") ? "oldest-first" : "newest-first";
    return withArchive(args, terminal, async (archive) => {
      const plants: StoredPlant[] = [];
      let cursor: string | undefined;
      do {
        const asked = Math.min(pageMax, limit - plants.length);
        const page = await archive.page({ filter, order, cursor, limit: asked, searchMsMax });
        plants.push(...page.plants);
        cursor = page.next;
      } while (cursor !== undefined && plants.length < limit);
      if (args.has("json")) terminal.out(`${JSON.stringify(plants.map(presentPlant), null, 2)}\n`);
      else if (plants.length === 0) terminal.err("No plant fits.\n");
      else terminal.out(`${columns([["ID", "NAME", "TAG", "STORED", "BY"], ...plants.map(row)])}\n`);
      if (cursor !== undefined && !args.has("json"))
        terminal.err(
          `There are more than these ${grouped(plants.length)}; --limit shows more, export gives all.\n`,
        );
      return 0;
    });
  },
};

export const show: Command = {
  usage: "show ID",
  summary: "show one plant",
  examples: ["plant-store show 9007199254740993", "plant-store show -5 --json"],
  flags: { json: { placeholder: undefined, help: "print JSON; the id is a string there" } },
  settings: ["database", "allowUnsafeDatabase"],
  run(args, terminal) {
    const [word, ...more] = args.words;
    if (word === undefined || more.length > 0) throw new Misuse("show needs the ID of a plant");
    const id = readId(word);
    return withArchive(args, terminal, async (archive) => {
      const plant = await archive.find(id);
      if (plant === undefined) {
        terminal.err(`plant-store: no plant has the id ${id}.\n`);
        return 1;
      }
      if (args.has("json")) terminal.out(`${JSON.stringify(presentPlant(plant), null, 2)}\n`);
      else terminal.out(`${columns(described(plant))}\n`);
      return 0;
    });
  },
};

function row({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string[] {
  const stored = new Date(createdAtMs).toISOString().slice(0, 19).replace("T", " ");
  return [
    String(id),
    visible(name, nameCharactersMax),
    visible(tag ?? "", tagCharactersMax),
    stored,
    visible(createdBy),
  ];
}

function described({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string[][] {
  return [
    ["id", String(id)],
    ["name", visible(name)],
    ...(tag === undefined ? [] : [["tag", visible(tag)]]),
    ["stored", new Date(createdAtMs).toISOString()],
    ["by", visible(createdBy)],
  ];
}

function readLimit(text: string): number {
  try {
    return parseCount(text, 1, limitMax);
  } catch (error) {
    throw error instanceof InvalidValue ? new Misuse(`--limit ${error.message}; it is "${text}"`) : error;
  }
}
