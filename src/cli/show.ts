import { readStoreConfig } from "../config/read-config.ts";
import { parseId, presentPlant } from "../files/plant-json.ts";
import type { StoredPlant } from "../plants/plant-archive.ts";
import { openForReading } from "../storage/open-store.ts";
import { Problem } from "../system/problem.ts";
import { isoTime } from "../text/time.ts";
import { parseArgument } from "./arguments.ts";
import { type Command, storeSecrets, storeSettings } from "./command.ts";
import { lostWalWarning } from "./lost-wal.ts";
import { escapeInvisible, formatColumns, printJson, visibleText } from "./terminal.ts";

export const show: Command = {
  usage: "show ID",
  needsPositional: true,
  summary: "show one plant",
  examples: ["plant-store show 9007199254740993", "plant-store show -5 --json"],
  flags: { json: { help: "print JSON, with the id as a string" } },
  settings: storeSettings,
  secrets: storeSecrets,
  async run(args, terminal) {
    const id = parseArgument("The id", args.positional, parseId);
    await using opened = await openForReading(readStoreConfig(args.sources), lostWalWarning(terminal));
    const plant = await opened.archive.find(id);
    if (plant === undefined) throw new Problem(`No plant has the id ${id}.`);
    if (args.has("json")) printJson(terminal, presentPlant(plant));
    else terminal.out(`${formatColumns(details(plant))}\n`);
    return 0;
  },
};

function details({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string[][] {
  return [
    ["id", String(id)],
    ["name", visibleText(name)],
    ...(tag === undefined ? [] : [["tag", visibleText(tag)]]),
    ["createdAt", isoTime(createdAtMs)],
    ["createdBy", escapeInvisible(createdBy)],
  ];
}
