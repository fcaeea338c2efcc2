import { type ConfigSources, parseNamed } from "../config/read-config.ts";
import { type Secret, type Setting, secrets, settings } from "../config/settings.ts";
import { misuse } from "../system/problem.ts";
import type { Parser } from "../text/parsers.ts";
import type { Terminal } from "./terminal.ts";

/** A flag, and how its values are read. */
export interface Flag<Value> {
  /** The name of its value in the help; empty if it takes none. */
  readonly placeholder: string;
  readonly help: string;
  /**
   * Reads every text that it was given; `label` is its name with dashes.
   * @throws Problem
   */
  readonly read: (texts: readonly string[], label: string) => Value;
}

type Flags = Readonly<Record<string, Flag<unknown>>>;

/** What a command works on. It is opened before the command runs, and closed after it. */
export interface Opening<Opened> {
  /** The settings that say what to open, such as --database. */
  readonly settings: readonly Setting<unknown>[];
  /** The secrets that it reads from the environment. */
  readonly secrets?: readonly Secret[];
  readonly open: (sources: ConfigSources, terminal: Terminal) => Promise<Opened & AsyncDisposable>;
}

/** What a command runs with. */
interface Given<Own extends Flags, Argument, Opened> {
  readonly flags: { readonly [Name in keyof Own]: ReturnType<Own[Name]["read"]> };
  /** The argument that is not a flag. */
  readonly argument: Argument;
  readonly opened: Opened;
  /** Where to read the settings from. */
  readonly sources: ConfigSources;
}

interface CommandOf<Own extends Flags, Argument, Opened> {
  readonly summary: string;
  readonly examples: readonly string[];
  readonly flags?: Own;
  /** The argument that is not a flag, if it needs one. */
  readonly argument?: { readonly name: string; readonly parse: Parser<Argument> };
  readonly opens?: Opening<Opened>;
  /** Whether it runs until it is stopped. It then has --log-level instead of --quiet, and handles signals by itself. */
  readonly isService?: true;
  /** The settings that it accepts as flags, besides those of what it opens. */
  readonly settings?: readonly Setting<unknown>[];
  /** The secrets that it reads from the environment, besides those of what it opens. */
  readonly secrets?: readonly Secret[];
  /** Returns whether all is well; otherwise the exit code is 1. `run.ts` prints the message of an expected error. */
  readonly run: (given: Given<Own, Argument, Opened>, terminal: Terminal) => Promise<boolean>;
}

// biome-ignore lint/suspicious/noExplicitAny: each command has values of its own types.
export type Command = CommandOf<any, any, any>;

/** A command, which gets the values of its flags, its argument and what it opens with their types. */
export function command<const Own extends Flags, Argument, Opened>(
  definition: CommandOf<Own, Argument, Opened>,
): Command {
  return definition;
}

/** A flag without a value. */
export function switchFlag(help: string): Flag<boolean> {
  return { placeholder: "", help, read: (texts) => texts.length > 0 };
}

/** A flag with one value. If it is repeated, the last one counts. */
export function flag<Value>(
  placeholder: string,
  help: string,
  parse: Parser<Value>,
): Flag<Value | undefined> {
  return {
    placeholder,
    help,
    read(texts, label) {
      const text = texts.at(-1);
      return text === undefined ? undefined : parseNamed(label, text, parse);
    },
  };
}

/** The flag with a default value, as someone would type it. */
export function defaultingTo<Value>(text: string, optional: Flag<Value | undefined>): Flag<Value> {
  return {
    ...optional,
    help: withDefault(optional.help, text),
    read: (texts, label) => optional.read([text, ...texts], label) as Value,
  };
}

export function required<Value>(optional: Flag<Value | undefined>): Flag<Value> {
  return {
    ...optional,
    help: `${optional.help} (required)`,
    read(texts, label) {
      const value = optional.read(texts, label);
      if (value === undefined) throw misuse(`${label} is needed.`);
      return value;
    },
  };
}

/** A flag that may be repeated, for several values. */
export function repeatedFlag<Value>(
  placeholder: string,
  help: string,
  parse: Parser<Value>,
): Flag<readonly Value[]> {
  return {
    placeholder,
    help,
    read: (texts, label) => texts.map((text) => parseNamed(label, text, parse)),
  };
}

/** Refuses a second value, which would seem to widen the choice. */
export function once<Value>(repeatable: Flag<Value>): Flag<Value> {
  return {
    ...repeatable,
    read(texts, label) {
      if (texts.length > 1) throw misuse(`${label} can be given only once.`);
      return repeatable.read(texts, label);
    },
  };
}

export const jsonFlag = switchFlag("print JSON");

/** What the service reads, for commands that say whether it would start. */
export const everySetting = { settings: Object.values(settings), secrets: Object.values(secrets) };

/** The command's own flags, without those of its settings. */
export function ownFlagsOf({ flags = {}, isService }: Command): Flags {
  return isService ? flags : { ...flags, quiet: switchFlag("print only errors") };
}

export function settingsOf({ settings = [], opens }: Command): readonly Setting<unknown>[] {
  return [...settings, ...(opens?.settings ?? [])];
}

export function secretsOf({ secrets: own = [], opens }: Command): readonly Secret[] {
  return [...own, ...(opens?.secrets ?? [])];
}

/** A flag, of the command itself or of a setting, as the help lists it. */
interface ListedFlag extends Pick<Flag<unknown>, "placeholder" | "help"> {
  readonly name: string;
  readonly group: string;
}

export function flagsOf(of: Command): readonly ListedFlag[] {
  const own = Object.entries(ownFlagsOf(of)).map(([name, flag]) => ({ ...flag, name, group: "Flags" }));
  const ofSettings = settingsOf(of).map((setting) => ({
    ...setting,
    name: setting.flag,
    help: withDefault(setting.help, setting.default),
  }));
  return [...own, ...ofSettings];
}

function withDefault(help: string, text: string): string {
  return text ? `${help} (${text})` : help;
}
