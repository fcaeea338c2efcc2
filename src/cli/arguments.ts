import { withoutPassword } from "../config/database.ts";
import { type ConfigSources, parseNamed } from "../config/read-config.ts";
import { secrets } from "../config/settings.ts";
import { misuse, type Problem } from "../system/problem.ts";
import { type Command, flagsOf, ownFlagsOf, secretsOf } from "./command.ts";
import { didYouMean, nearestWord } from "./suggestion.ts";
import type { Terminal } from "./terminal.ts";

/** A command line, read: what its command runs with. */
export interface Arguments {
  readonly flags: Readonly<Record<string, unknown>>;
  readonly argument: unknown;
  readonly sources: ConfigSources;
}

// An id may be negative, and - is standard input.
const notFlag = /^(?:[^-]|-\d|-$|$)/;

/** @throws Problem */
export function parseArguments(
  args: readonly string[],
  command: Command,
  { environment, readFile }: Pick<Terminal, "environment" | "readFile">,
): Arguments {
  const given = new Map<string, string[]>();
  const positionals: string[] = [];
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === "--") {
      positionals.push(...rest.splice(0));
    } else if (notFlag.test(arg)) {
      positionals.push(arg);
    } else {
      const { name, text } = takeFlag(arg, rest, command);
      given.set(name, [...(given.get(name) ?? []), text]);
    }
  }
  const argument = readArgument(positionals, command);
  const flags = Object.entries(ownFlagsOf(command)).map(
    ([name, flag]) => [name, flag.read(given.get(name) ?? [], `--${name}`)] as const,
  );
  const lastTexts = Array.from(given, ([name, texts]) => [name, texts.at(-1)] as const);
  return {
    flags: Object.fromEntries(flags),
    argument,
    sources: { flags: Object.fromEntries(lastTexts), environment, readFile },
  };
}

/** The argument that is not a flag, if the command needs one. */
function readArgument(positionals: readonly string[], { argument }: Command): unknown {
  const wanted = argument === undefined ? 0 : 1;
  // A script may quote a variable that is not set, which passes an empty argument.
  const unexpected = positionals.slice(wanted).find((text) => text !== "");
  if (unexpected !== undefined) throw misuse(`Unexpected argument "${withoutPassword(unexpected)}".`);
  if (argument === undefined) return undefined;
  const [text] = positionals;
  if (!text) throw misuse(`${argument.name} is needed.`);
  return parseNamed(argument.name, text, argument.parse);
}

/** The name and the value of a flag. Unless `=` attaches the value, it is taken from the rest of the arguments. */
function takeFlag(
  arg: string,
  rest: string[],
  command: Command,
): { readonly name: string; readonly text: string } {
  const [, flag = "", attached] = /^([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
  const known = flagsOf(command).find(({ name }) => flag === `--${name}`);
  if (known === undefined) throw unknownFlagError(flag, command);
  const { name, placeholder } = known;
  if (placeholder === "") {
    if (attached !== undefined) throw misuse(`${flag} takes no value.`);
    return { name, text: "" };
  }
  const text = attached ?? rest.shift();
  if (text === undefined || (attached === undefined && !notFlag.test(text)))
    throw misuse(`${flag} needs a value.`);
  return { name, text };
}

function unknownFlagError(flag: string, command: Command): Problem {
  const { variable } = secrets.accessToken;
  if (flag === "--token" && secretsOf(command).some((secret) => secret.variable === variable))
    return misuse(`Unknown flag ${flag}; set the environment variable ${variable}.`);
  const names = flagsOf(command).map(({ name }) => name);
  const isPort = flag === "--port" && names.includes("listen");
  const meant = isPort ? "listen HOST:PORT" : nearestWord(flag.replace(/^-+/, ""), names);
  return misuse(`Unknown flag ${flag}.${didYouMean(meant && `--${meant}`)}`);
}
