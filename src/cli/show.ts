import { parseId, presentPlant } from "../files/plant-json.ts";
import { Problem } from "../system/problem.ts";
import { command, jsonFlag } from "./command.ts";
import { columns } from "./list.ts";
import { reading } from "./openings.ts";
import { formatRow } from "./table.ts";

export const show = command({
  summary: "show one plant",
  examples: ["plant-store show 9007199254740993", "plant-store show -5 --json"],
  flags: { json: jsonFlag },
  argument: { name: "ID", parse: parseId },
  opens: reading,
  async run({ flags: { json }, argument: id, opened: store }, terminal) {
    const [plant] = await store.archive.findAll([id]);
    if (plant === undefined) throw new Problem(`No plant has the id ${id}.`);
    if (json) terminal.printJson(presentPlant(plant));
    else terminal.out(`${formatRow(columns, plant)}\n`);
    return true;
  },
});
