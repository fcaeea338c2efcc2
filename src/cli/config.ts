import { effectiveSettings, readServiceConfig, unknownVariables } from "../config/read-config.ts";
import { command, everySetting, jsonFlag } from "./command.ts";
import { escapeInvisible, formatColumns } from "./terminal.ts";

export const config = command({
  summary: "print the current settings and where each comes from",
  examples: ["plant-store config", "PLANT_STORE_LISTEN=0.0.0.0:8080 plant-store config --json"],
  flags: { json: jsonFlag },
  ...everySetting,
  async run({ flags: { json }, sources }, terminal) {
    const effective = effectiveSettings(sources);
    if (json) {
      terminal.printJson(effective);
    } else {
      // The value is whatever the environment has, before it is validated.
      const rows = effective.map(({ name, value, source }) => [
        name,
        source,
        escapeInvisible(value) || "(none)",
      ]);
      terminal.out(`${formatColumns([["name", "source", "value"], ...rows])}\n`);
    }
    for (const name of unknownVariables(terminal.environment)) terminal.warn(`Unknown variable ${name}.`);
    // Validated after the listing, so that an invalid value is listed with its source before the error.
    readServiceConfig(sources);
    return true;
  },
});
