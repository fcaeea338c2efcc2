import { parseId, presentPlant } from "../files/plant-json.ts";
import type { StoredPlant } from "../plants/plant-archive.ts";
import { Problem } from "../system/problem.ts";
import { isoTime } from "../text/time.ts";
import { command, switchFlag } from "./command.ts";
import { reading } from "./openings.ts";
import { escapeInvisible, formatColumns, printJson, visibleText } from "./terminal.ts";

export const show = command({
  usage: "show ID",
  summary: "show one plant",
  examples: ["plant-store show 9007199254740993", "plant-store show -5 --json"],
  flags: { json: switchFlag("print JSON, with the id as a string") },
  argument: parseId,
  opens: reading,
  async run({ flags: { json }, argument: id, opened: store }, terminal) {
    const plant = await store.archive.find(id);
    if (plant === undefined) throw new Problem(`No plant has the id ${id}.`);
    if (json) printJson(terminal, presentPlant(plant));
    else terminal.out(`${formatColumns(details(plant))}\n`);
    return 0;
  },
});

function details({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string[][] {
  return [
    ["id", String(id)],
    ["name", visibleText(name)],
    ...(tag === undefined ? [] : [["tag", visibleText(tag)]]),
    ["createdAt", isoTime(createdAtMs)],
    ["createdBy", escapeInvisible(createdBy)],
  ];
}
