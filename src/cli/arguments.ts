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
  const known = flagsOf(command);
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === "--") positionals.push(...rest.splice(0));
    else if (notFlag.test(arg)) positionals.push(arg);
    else {
      const [, flag = "", name = "", attached] = /^(--?([^=]*))(?:=(.*))?$/s.exec(arg) ?? [];
      if (!flag.startsWith("--") || !known.has(name)) throw unknownFlag(flag, command.secrets);
      const needsValue = known.get(name)?.placeholder !== undefined;
      if (!needsValue && attached !== undefined) throw new UsageError(`${flag} takes no value`);
      if (needsValue && attached === undefined && !notFlag.test(rest[0] ?? "--"))
        throw new UsageError(`${flag} needs a value`);
      const text = attached ?? (needsValue ? rest.shift() : undefined) ?? "";
      given.set(name, [...(given.get(name) ?? []), text]);
    }
  }
  const [positional = "", unexpected = ""] = command.positional ? positionals : ["", ...positionals];
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
