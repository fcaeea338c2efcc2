import { catalogue } from "../http/error-catalogue.ts";
import { type Command, jsonFlag } from "./command.ts";
import { formatColumns, printJson, UsageError } from "./terminal.ts";

export const errors: Command = {
  usage: "errors [CODE]",
  positional: "optional",
  summary: "explain all errors, or one of them",
  examples: ["plant-store errors", "plant-store errors 40020"],
  flags: { json: jsonFlag },
  settings: [],
  async run(args, terminal) {
    const code = args.positional;
    const all = Object.values(catalogue);
    const selected = code === "" ? all : all.filter(({ error }) => String(error) === code);
    if (selected.length === 0)
      throw new UsageError(`there is no error ${code}; \`plant-store errors\` lists them all`);
    if (args.has("json")) printJson(terminal, selected);
    else if (code === "")
      terminal.out(
        `${formatColumns(all.map(({ error, when }) => [String(error), withoutBackticks(when)]))}\n`,
      );
    else
      for (const { error, when, example, remedy } of selected)
        terminal.out(`${error}: ${withoutBackticks(when)}\n\n  ${example}\n\n${remedy}\n`);
    return 0;
  },
};

function withoutBackticks(text: string): string {
  return text.replaceAll("`", "");
}
