import packageFile from "../../package.json" with { type: "json" };
import { effectiveSettings, readConfig, unknownVariables } from "../config/read-config.ts";
import { type SettingName, settings } from "../config/settings.ts";
import { type Command, jsonFlag } from "./command.ts";
import { formatColumns, printJson } from "./terminal.ts";

export const version: Command = {
  usage: "version",
  summary: "print the version",
  examples: ["plant-store version", "plant-store version --json"],
  flags: { json: jsonFlag },
  async run(args, terminal) {
    const { name, version: number } = packageFile;
    if (args.has("json")) printJson(terminal, { name, version: number });
    else terminal.out(`${number}\n`);
    return 0;
  },
};

export const config: Command = {
  usage: "config",
  summary: "print the effective settings and the source of each",
  examples: ["plant-store config", "PLANT_STORE_LISTEN=0.0.0.0:8080 plant-store config --json"],
  flags: { json: jsonFlag },
  settings: Object.keys(settings) as SettingName[],
  async run(args, terminal) {
    const effective = effectiveSettings(args.sources);
    if (args.has("json")) printJson(terminal, effective);
    else {
      const rows = effective.map(({ name, value, source }) => [name, value || "(none)", source]);
      terminal.out(`${formatColumns([["SETTING", "VALUE", "FROM"], ...rows])}\n`);
    }
    for (const name of unknownVariables(terminal.environment))
      terminal.err(`plant-store does not know the variable ${name}.\n`);
    // Validated after the listing, so that an invalid value is listed with its source before the error.
    readConfig(args.sources);
    return 0;
  },
};
