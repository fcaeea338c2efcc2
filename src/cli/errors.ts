import { catalogue } from "../http/error-catalogue.ts";
import type { Command } from "./command.ts";
import { columns, Misuse } from "./terminal.ts";

export const errors: Command = {
  usage: "errors [CODE]",
  summary: "explain every error, or one of them",
  examples: ["plant-store errors", "plant-store errors 40020"],
  flags: { json: { placeholder: undefined, help: "print JSON" } },
  settings: [],
  async run(args, terminal) {
    const [code, ...more] = args.words;
    if (more.length > 0) throw new Misuse("errors takes one CODE at most");
    const all = Object.values(catalogue);
    const chosen = code === undefined ? all : all.filter(({ error }) => String(error) === code);
    if (chosen.length === 0)
      throw new Misuse(`there is no error ${code}; \`plant-store errors\` lists them all`);
    if (args.has("json")) terminal.out(`${JSON.stringify(chosen, null, 2)}\n`);
    else if (code === undefined)
      terminal.out(`${columns(all.map(({ error, when }) => [String(error), plain(when)]))}\n`);
    else
      for (const entry of chosen)
        terminal.out(`${entry.error}: ${plain(entry.when)}\n\n  ${entry.example}\n\n${entry.remedy}\n`);
    return 0;
  },
};

function plain(text: string): string {
  return text.replaceAll("`", "");
}
