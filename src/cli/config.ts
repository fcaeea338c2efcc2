import { effectiveSettings, readConfig, unknownVariables } from "../config/read-config.ts";
import { type SettingName, settings } from "../config/settings.ts";
import { type Command, jsonFlag } from "./command.ts";
import { escapeInvisible, formatColumns, printJson, warn } from "./terminal.ts";

export const config: Command = {
  usage: "config",
  summary: "print the current settings and where each comes from",
  examples: ["plant-store config", "PLANT_STORE_LISTEN=0.0.0.0:8080 plant-store config --json"],
  flags: { json: jsonFlag },
  settings: Object.keys(settings) as SettingName[],
  async run(args, terminal) {
    const effective = effectiveSettings(args.sources);
    if (args.has("json")) {
      printJson(terminal, effective);
    } else {
      // A value is whatever the environment has, before it is validated.
      const rows = effective.map(({ name, value, source }) => [
        name,
        escapeInvisible(value) || "(none)",
        source,
      ]);
      terminal.out(`${formatColumns([["SETTING", "VALUE", "FROM"], ...rows])}\n`);
    }
    for (const name of unknownVariables(terminal.environment)) warn(terminal, `Unknown variable ${name}.`);
    // Validated after the listing, so that an invalid value is listed with its source before the error.
    readConfig(args.sources);
    return 0;
  },
};
