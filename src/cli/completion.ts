import { settings } from "../config/settings.ts";
import { type Command, flagsOf } from "./command.ts";
import { bashScript, fishScript, zshScript } from "./completion/scripts.ts";
import type { CommandWords } from "./completion/words.ts";
import { UsageError } from "./terminal.ts";

const scripts: Readonly<Record<string, (commands: readonly CommandWords[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** The command itself is one of those that it completes. */
export function completionOf(commands: () => Readonly<Record<string, Command>>): Command {
  return {
    usage: "completion SHELL",
    positional: "required",
    summary: "print a completion script for bash, zsh or fish",
    examples: [
      "source <(plant-store completion bash)   # in ~/.bashrc",
      "source <(plant-store completion zsh)    # in ~/.zshrc, after compinit",
      "plant-store completion fish > ~/.config/fish/completions/plant-store.fish",
    ],
    async run({ positional }, terminal) {
      const script = Object.hasOwn(scripts, positional) ? scripts[positional] : undefined;
      if (script === undefined)
        throw new UsageError(`the shell must be bash, zsh or fish; it is "${positional}"`);
      terminal.out(script(Object.entries(commands()).map(([name, command]) => wordsOf(name, command))));
      return 0;
    },
  };
}

function wordsOf(name: string, command: Command): CommandWords {
  const own = Object.entries(flagsOf(command)).map(([flag, own]) => ({
    placeholder: undefined,
    ...own,
    flag,
  }));
  const general = (command.settings ?? []).map((setting) => settings[setting]);
  return {
    name,
    summary: command.summary,
    flags: [...own, ...general, { flag: "help", placeholder: undefined, help: "explain the command" }],
    acceptsFile: command.usage.includes(" FILE"),
  };
}
