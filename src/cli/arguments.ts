import { type SecretName, secrets, settings } from "../config/settings.ts";
import { InvalidValue, withoutPassword } from "../config/values.ts";
import { type Arguments, type Command, flagsOf } from "./command.ts";
import { type Terminal, UsageError } from "./terminal.ts";

// An id may be negative, and - is standard input.
const notFlag = /^(?:[^-]|-\d|-$|$)/;

/** @throws UsageError */
export function parseArguments(
  args: readonly string[],
  command: Command,
  { environment, readFile }: Terminal,
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
  const positional = command.positional ? (positionals.shift() ?? "") : "";
  const [unexpected = ""] = positionals;
  if (unexpected !== "") throw new UsageError(`unexpected argument "${unexpected}"`);
  if (command.positional && positional === "") throw wrongUsage(command);
  const value = (flag: string) => given.get(flag)?.at(-1);
  const flags = Object.fromEntries(Object.values(settings).map(({ flag }) => [flag, value(flag)]));
  return {
    positional,
    sources: { flags, environment, readFile },
    value,
    values: (flag) => given.get(flag) ?? [],
    has: (flag) => given.has(flag),
  };
}

/** The name and the value of a flag. Unless `=` attaches the value, it is taken from the rest of the arguments. */
function takeFlag(
  arg: string,
  rest: string[],
  command: Command,
): { readonly name: string; readonly text: string } {
  const [, flag = "", name = "", attached] = /^(--?([^=]*))(?:=(.*))?$/s.exec(arg) ?? [];
  const known = flagsOf(command).get(name);
  if (!flag.startsWith("--") || known === undefined) throw unknownFlag(flag, command.secrets);
  if (known.placeholder === undefined) {
    if (attached !== undefined) throw new UsageError(`${flag} takes no value`);
    return { name, text: "" };
  }
  if (attached !== undefined) return { name, text: attached };
  const next = rest.shift();
  if (next === undefined || !notFlag.test(next)) throw new UsageError(`${flag} needs a value`);
  return { name, text: next };
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
  return new UsageError(`usage: plant-store ${usage}`);
}

/** @throws UsageError if the value is invalid */
export function parseFlag<Value>(
  args: Arguments,
  name: string,
  parse: (text: string) => Value,
): Value | undefined {
  return parseFlags(args, name, parse).at(-1);
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

function unknownFlag(flag: string, used: Command["secrets"] = {}): UsageError {
  const [secret] = Object.keys(used) as SecretName[];
  const hint =
    flag === "--token" && secret !== undefined ? `; set the environment variable ${secrets[secret]}` : "";
  return new UsageError(`unknown flag ${flag}${hint}`);
}
