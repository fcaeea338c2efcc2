import packageFile from "../../package.json" with { type: "json" };
import { command, jsonFlag } from "./command.ts";

export const version = command({
  summary: "print the version",
  examples: ["plant-store version", "plant-store version --json"],
  flags: { json: jsonFlag },
  async run({ flags: { json } }, terminal) {
    const { name, version: number } = packageFile;
    if (json) terminal.printJson({ name, version: number });
    else terminal.out(`${number}\n`);
    return true;
  },
});
