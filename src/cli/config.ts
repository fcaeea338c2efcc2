import { effectiveSettings, readConfig, unknownVariables } from "../config/read-config.ts";
import { type SettingName, settings } from "../config/settings.ts";
import type { Command } from "./command.ts";
import { sources } from "./flags.ts";
import { columns } from "./terminal.ts";

export const config: Command = {
  usage: "config",
  summary: "print the settings in force and where each came from",
  examples: ["plant-store config", "PLANT_STORE_LISTEN=0.0.0.0:8080 plant-store config --json"],
  flags: { json: { placeholder: undefined, help: "print JSON" } },
  settings: Object.keys(settings) as SettingName[],
  async run(args, terminal) {
    const around = sources(args, terminal);
    const effective = effectiveSettings(around);
    if (args.has("json")) terminal.out(`${JSON.stringify(effective, null, 2)}\n`);
    else {
      const rows = effective.map(({ name, value, source }) => [
        name,
        value === "" ? "(none)" : value,
        source,
      ]);
      terminal.out(`${columns([["SETTING", "VALUE", "FROM"], ...rows])}\n`);
    }
    for (const name of unknownVariables(around.environment))
      terminal.err(`${name} is not one of plant-store's variables.\n`);
    // After the listing, so that a wrong value is seen in its place and then told.
    readConfig(around);
    return 0;
  },
};
