import packageFile from "../../package.json" with { type: "json" };
import { type Command, jsonFlag } from "./command.ts";
import { printJson } from "./terminal.ts";

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
