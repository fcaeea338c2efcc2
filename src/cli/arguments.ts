import { withoutPassword } from "../config/database.ts";
import { secrets, settings } from "../config/settings.ts";
import { Problem } from "../system/problem.ts";
import { describeInvalid, InvalidValue, type Parser } from "../text/parsers.ts";
import { shellQuoted } from "../text/shell.ts";
import { type Arguments, type Command, flagsOf, secretNamesOf } from "./command.ts";
import { nearestWord } from "./suggestion.ts";
import type { Terminal } from "./terminal.ts";

// An id may be negative, and - is standard input.
const notFlag = /^(?:[^-]|-\d|-$|$)/;

/** The command line is wrong. The message is one sentence without its full stop; the exit code is 2. */
export class UsageError extends Problem {
  /** What was probably meant, as a question; empty if nothing is near. */
  readonly suggestion: string;

  constructor(message: string, meant?: string) {
    super(message, { exitCode: 2 });
    this.suggestion = meant === undefined ? "" : `Did you mean ${meant}?`;
  }
}

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
  const positional = command.needsPositional ? (positionals.shift() ?? "") : "";
  // A script may quote a variable that is not set, which passes an empty argument.
  const unexpected = positionals.find((argument) => argument !== "");
  if (unexpected !== undefined) throw unexpectedArgumentError(unexpected, command, given);
  if (command.needsPositional && positional === "") throw wrongUsageError(command);
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
  if (!flag.startsWith("--") || known === undefined)
    throw unknownFlagError(flag, attached ?? rest[0], command);
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
  return ["database", "from", "to"].flatMap((flag) => {
    const database = value(flag);
    if (database === undefined || withoutPassword(database) === database) return [];
    return `every user of this machine can read the password in --${flag}; use PLANT_STORE_DATABASE_PASSWORD_FILE`;
  });
}

export function wrongUsageError({ usage }: Pick<Command, "usage">): UsageError {
  return new UsageError(`Usage: plant-store ${usage}`);
}

/** @throws UsageError if the value is invalid */
export function readFlag<Value>(args: Arguments, name: string, parse: Parser<Value>): Value | undefined {
  return readFlags(args, name, parse).at(-1);
}

/** @throws UsageError if one of the values is invalid */
export function readFlags<Value>(args: Arguments, name: string, parse: Parser<Value>): Value[] {
  return args.values(name).map((text) => parseArgument(`--${name}`, text, parse));
}

/** @throws UsageError if the text of `name` is invalid */
export function parseArgument<Value>(name: string, text: string, parse: Parser<Value>): Value {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof InvalidValue)
      throw new UsageError(describeInvalid(name, error, withoutPassword(text)));
    throw error;
  }
}

function unknownFlagError(flag: string, value: string | undefined, command: Command): UsageError {
  const name = flag.replace(/^-+/, "");
  if (name === "token" && secretNamesOf(command).includes("accessToken"))
    return new UsageError(
      `Unknown flag ${flag}; set the environment variable ${secrets.accessToken.variable}`,
    );
  return new UsageError(`Unknown flag ${flag}`, flagMeantBy(name, value, command));
}

/** The flag that was probably meant. A value is quoted only if it is a port: any other may be a secret. */
function flagMeantBy(name: string, value: string | undefined, command: Command): string | undefined {
  const flags = flagsOf(command);
  if (name === "port" && flags.has("listen")) {
    const port = /^\d{1,5}$/.test(value ?? "") ? value : "PORT";
    return `--listen 127.0.0.1:${port}`;
  }
  const nearest = nearestWord(name, flags.keys());
  return nearest === undefined ? undefined : `--${nearest}`;
}

/** The value of a flag may have been typed without the flag: `token create greenhouse`, `verify plants.db`. */
function unexpectedArgumentError(
  argument: string,
  command: Command,
  given: ReadonlyMap<string, unknown>,
): UsageError {
  const shown = withoutPassword(argument);
  const expected = [...command.usage.matchAll(/--([\w-]+) [A-Z]+/g)].map(([, flag = ""]) => flag);
  // With an argument of its own, as in `backup a.db b.db`, the first of two may be the data file.
  const takesDataFile = !command.needsPositional && flagsOf(command).has("database");
  if (takesDataFile && argument.endsWith(".db")) expected.push("database");
  const missing = expected.find((flag) => !given.has(flag));
  const meant = missing === undefined ? undefined : `--${missing} ${shellQuoted(shown)}`;
  return new UsageError(`Unexpected argument "${shown}"`, meant);
}
