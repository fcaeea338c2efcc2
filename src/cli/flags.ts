import { parseArgs } from "node:util";
import type { ConfigSources } from "../config/read-config.ts";
import { type SettingName, settings } from "../config/settings.ts";
import { Misuse, type Terminal } from "./terminal.ts";

/** A flag of one command's own, beside the settings. */
export interface Flag {
  /** The name of its value in the help; undefined for a switch. */
  readonly placeholder: string | undefined;
  readonly multiple?: boolean;
  readonly help: string;
}

export interface Arguments {
  /** What is left when the flags are taken out. */
  readonly words: readonly string[];
  value(flag: string): string | undefined;
  values(flag: string): readonly string[];
  has(flag: string): boolean;
}

export function readArguments(
  args: readonly string[],
  own: Readonly<Record<string, Flag>>,
  taken: readonly SettingName[],
): Arguments {
  const options: Record<string, { type: "string" | "boolean"; multiple: boolean }> = {};
  for (const name of taken) options[settings[name].flag] = { type: "string", multiple: false };
  for (const [name, { placeholder, multiple }] of Object.entries(own)) {
    options[name] = { type: placeholder === undefined ? "boolean" : "string", multiple: multiple === true };
  }
  try {
    const { values, positionals } = parseArgs({
      args: withNegativeNumbers(args, options),
      options,
      allowPositionals: true,
      strict: true,
    });
    const list = (flag: string) => [values[flag] ?? []].flat().filter((value) => typeof value === "string");
    return {
      words: positionals,
      value: (flag) => list(flag)[0],
      values: list,
      has: (flag) => values[flag] === true,
    };
  } catch (error) {
    // The first sentence names the flag; the rest is advice for positionals that does not fit here.
    throw new Misuse((error as Error).message.split(". ")[0] ?? "");
  }
}

export function sources(args: Arguments, terminal: Terminal): ConfigSources {
  const flags = Object.fromEntries(Object.values(settings).map(({ flag }) => [flag, args.value(flag)]));
  return { flags, environment: terminal.environment, readFile: terminal.readFile };
}

// An id may be negative, and parseArgs takes every word that begins with a dash for a flag.
function withNegativeNumbers(
  args: readonly string[],
  options: Readonly<Record<string, { type: "string" | "boolean" }>>,
): string[] {
  const flags: string[] = [];
  const numbers: string[] = [];
  if (args.includes("--")) return [...args];
  for (const word of args) {
    const before = flags.at(-1) ?? "";
    if (!/^-\d+$/.test(word)) flags.push(word);
    else if (options[before.slice(2)]?.type === "string") flags[flags.length - 1] = `${before}=${word}`;
    else numbers.push(word);
  }
  return numbers.length === 0 ? flags : [...flags, "--", ...numbers];
}
