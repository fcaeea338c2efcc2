import {
  type EffectiveSetting,
  effectiveSettings,
  readServiceConfig,
  unknownVariables,
} from "../config/read-config.ts";
import { settingNames } from "../config/settings.ts";
import { allSecrets, type Command, jsonFlag } from "./command.ts";
import { type Column, formatTable } from "./table.ts";
import { escapeInvisible, printJson, warn } from "./terminal.ts";

const columns: readonly Column<EffectiveSetting>[] = [
  { heading: "name", text: ({ name }) => name },
  // The value is whatever the environment has, before it is validated.
  { heading: "value", text: ({ value }) => escapeInvisible(value) || "(none)" },
  { heading: "source", text: ({ source }) => source },
];

export const config: Command = {
  usage: "config",
  summary: "print the current settings and where each comes from",
  examples: ["plant-store config", "PLANT_STORE_LISTEN=0.0.0.0:8080 plant-store config --json"],
  flags: { json: jsonFlag },
  settings: settingNames,
  secrets: allSecrets,
  async run(args, terminal) {
    const effective = effectiveSettings(args.sources);
    if (args.has("json")) {
      printJson(terminal, effective);
    } else {
      terminal.out(`${formatTable(columns, effective, terminal)}\n`);
    }
    for (const name of unknownVariables(terminal.environment)) warn(terminal, `Unknown variable ${name}.`);
    // Validated after the listing, so that an invalid value is listed with its source before the error.
    readServiceConfig(args.sources);
    return 0;
  },
};
