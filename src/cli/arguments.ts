import { parseArgs } from "node:util";
import { type SecretName, secrets, settings } from "../config/settings.ts";
import { InvalidValue } from "../config/values.ts";
import { withoutPassword } from "../config/without-password.ts";
import { type Arguments, type Command, flagsOf } from "./command.ts";
import { didYouMean } from "./suggestion.ts";
import { type Terminal, UsageError } from "./terminal.ts";

// What other services call the same flags.
const synonyms: Readonly<Record<string, string>> = {
  port: "listen",
  host: "listen",
  bind: "listen",
  db: "database",
};

/** @throws UsageError */
export function parseArguments(
  args: readonly string[],
  command: Command,
  { environment, readFile }: Terminal,
): Arguments {
  const { values, positionals } = parse(args, command);
  const list = (flag: string) => [values[flag] ?? []].flat().filter((value) => typeof value === "string");
  const [positional = "", unexpected = ""] = command.positional ? positionals : ["", ...positionals];
  if (unexpected !== "") throw new UsageError(`unexpected argument "${unexpected}"`);
  if (command.positional && positional === "") throw wrongUsage(command);
  const flags = Object.fromEntries(Object.values(settings).map(({ flag }) => [flag, list(flag)[0]]));
  return {
    positional,
    sources: { flags, environment, readFile },
    value: (flag) => list(flag)[0],
    values: list,
    has: (flag) => values[flag] === true,
  };
}

/** A warning for each flag that contains a database password. */
export function passwordWarnings({ value }: Arguments): string[] {
  return ["database", "from", "to"]
    .filter((flag) => value(flag) !== undefined && withoutPassword(value(flag) ?? "") !== value(flag))
    .map(
      (flag) =>
        `every user of this machine can read the password in --${flag}; use PLANT_STORE_DATABASE_PASSWORD_FILE`,
    );
}

export function wrongUsage({ usage }: Pick<Command, "usage">): UsageError {
  return new UsageError(`the usage is plant-store ${usage}`);
}

/** @throws UsageError if the value is invalid */
export function parseFlag<Value>(
  args: Arguments,
  name: string,
  parse: (text: string) => Value,
): Value | undefined {
  return parseFlags(args, name, parse)[0];
}

/** @throws UsageError if one of the values is invalid */
export function parseFlags<Value>(args: Arguments, name: string, parse: (text: string) => Value): Value[] {
  return args.values(name).map((text) => {
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof InvalidValue)
        throw new UsageError(`--${name} ${error.message}; it is ${JSON.stringify(withoutPassword(text))}`);
      throw error;
    }
  });
}

function parse(args: readonly string[], command: Command) {
  const options: Record<string, { type: "string" | "boolean"; multiple: boolean }> = {};
  for (const name of command.settings ?? [])
    options[settings[name].flag] = { type: "string", multiple: false };
  for (const [name, { placeholder, multiple = false }] of Object.entries(flagsOf(command)))
    options[name] = { type: placeholder === undefined ? "boolean" : "string", multiple };
  try {
    return parseArgs({
      args: withNegativeNumbers(args, options),
      options,
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    throw wrongFlag(error as NodeJS.ErrnoException, Object.keys(options), command.secrets);
  }
}

function wrongFlag(
  { code, message }: NodeJS.ErrnoException,
  known: readonly string[],
  used: Command["secrets"] = {},
): UsageError {
  // As it was typed, without its value, or as `-s, --long <value>`.
  const flag = /'(?:-\w, )?(--?[^' =]*)/.exec(message)?.[1] ?? "";
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const name = flag.startsWith("--") ? flag.slice(2) : "";
    const [secret] = Object.keys(used) as SecretName[];
    if (name === "token" && secret !== undefined)
      return new UsageError(`there is no flag ${flag}; set the environment variable ${secrets[secret]}`);
    const suggestion = name === "" ? "" : didYouMean(synonyms[name] ?? name, known, "--");
    return new UsageError(`there is no flag ${flag}${suggestion}`);
  }
  if (/does not take an argument/.test(message)) return new UsageError(`${flag} has no value`);
  return new UsageError(
    /argument missing/.test(message) ? `${flag} needs a value` : (message.split(". ")[0] ?? ""),
  );
}

// An id may be negative, but parseArgs reads every argument that begins with a dash as a flag.
function withNegativeNumbers(
  args: readonly string[],
  options: Readonly<Record<string, { type: "string" | "boolean" }>>,
): string[] {
  const others: string[] = [];
  const numbers: string[] = [];
  if (args.includes("--")) return [...args];
  for (const arg of args) {
    const previous = others.at(-1) ?? "";
    if (!/^-\d+$/.test(arg)) others.push(arg);
    else if (options[previous.slice(2)]?.type === "string") others[others.length - 1] = `${previous}=${arg}`;
    else numbers.push(arg);
  }
  return numbers.length === 0 ? others : [...others, "--", ...numbers];
}
