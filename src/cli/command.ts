import type { ConfigSources } from "../config/read-config.ts";
import { type SecretName, type SettingName, secrets, settingNames, settings } from "../config/settings.ts";
import { eitherOf } from "../text/words.ts";
import { bold, columnsOf, formatTerms, type Terminal, wrapped } from "./terminal.ts";

export interface Flag {
  /** The name of its value in the help; a boolean flag has none. */
  readonly placeholder?: string;
  readonly help: string;
}

export interface Arguments {
  /** The argument that is not a flag; empty if there is none. */
  readonly positional: string;
  /** Where to read the settings from. */
  readonly sources: ConfigSources;
  value(flag: string): string | undefined;
  values(flag: string): readonly string[];
  has(flag: string): boolean;
}

type UsedSecrets = Readonly<Partial<Record<SecretName, string>>>;

export interface Command {
  /** The command with its arguments, such as `token create --name NAME`. */
  readonly usage: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly flags?: Readonly<Record<string, Flag>>;
  /**
   * Whether it runs until it is stopped. It then logs its warnings by itself, has --log-level instead of --quiet, and goes on if
   * nobody reads what it prints.
   */
  readonly isService?: true;
  /** Whether it needs an argument that is not a flag. */
  readonly needsPositional?: true;
  /** The settings that it accepts as flags. */
  readonly settings?: readonly SettingName[];
  /** The secrets that it reads from the environment, and what for. */
  readonly secrets?: UsedSecrets;
  /** Returns the exit code. `run.ts` prints the message of an expected error. */
  run(args: Arguments, terminal: Terminal): Promise<number>;
}

// What a person runs first.
const firstCommands = [
  ["plant-store serve", "run the service"],
  ["plant-store token create --name greenhouse", "create a token for a client"],
] as const;

export const jsonFlag: Flag = { help: "print JSON" };

/** The settings of every command that opens the store, on either engine. */
export const storeSettings: readonly SettingName[] = ["database", "allowUnsafeDatabase"];

/** The secrets of a command that reads them all. */
export const allSecrets: UsedSecrets = {
  accessToken: secrets.accessToken.meaning,
  operatorToken: secrets.operatorToken.meaning,
  databasePassword: secrets.databasePassword.meaning,
};

/** The secrets of every command that opens the store, on either engine. */
export const storeSecrets: UsedSecrets = { databasePassword: secrets.databasePassword.meaning };

/** The names of the secrets that the command reads. */
export function secretNamesOf(command: Command): SecretName[] {
  return Object.keys(command.secrets ?? {}) as SecretName[];
}

/** Every flag of a command, those of its settings included. */
export function flagsOf(command: Command): ReadonlyMap<string, Flag> {
  const flags = Object.entries(ownFlagsOf(command));
  for (const name of command.settings ?? []) {
    const { flag, placeholder, help, default: text } = settings[name];
    flags.push([flag, { placeholder, help: text === "" ? help : `${help} (${text})` }]);
  }
  return new Map(flags);
}

function ownFlagsOf({ flags = {}, isService }: Command): Readonly<Record<string, Flag>> {
  return isService ? flags : { ...flags, quiet: { help: "print only errors" } };
}

/** Every command, on one screen if that has 80 columns. */
export function generalHelp(
  commands: Readonly<Record<string, Command>>,
  hasColour: boolean,
  columns: number,
): string {
  return [
    `${bold("plant-store", hasColour)}: a durable intake for plant records. Examples:`,
    formatTerms(firstCommands, "  ", columns),
    "",
    bold("Commands", hasColour),
    formatTerms(commandRows(commands), "  ", columns),
    "",
    ...wrapped("For details, run plant-store COMMAND --help. README.md and docs/ have more.", columns),
    "",
  ].join("\n");
}

/** The second words of the commands that begin with this one. */
export function verbsOf(commands: Readonly<Record<string, Command>>, first: string): string[] {
  return Object.keys(commands).flatMap((name) =>
    name.startsWith(`${first} `) ? (name.split(" ")[1] ?? []) : [],
  );
}

export function commandHelp(command: Command, hasColour: boolean, columns: number): string {
  const heading = (text: string) => bold(text, hasColour);
  return [
    ...titleLines(command, heading, columns),
    "",
    heading("Examples"),
    ...command.examples.map((example) => exampleLines(example, columns)),
    "",
    ...flagLines(command, heading, columns),
    ...secretLines(command, heading, columns),
    "",
    heading("Exit codes"),
    command.isService
      ? "  0 stopped, 1 failed, 2 misused"
      : "  0 done, 1 failed, 2 misused, 130 or 143 interrupted",
    "",
  ].join("\n");
}

/** What the command is called and does, on one line if it fits. */
function titleLines(
  { usage, summary }: Command,
  heading: (text: string) => string,
  columns: number,
): string[] {
  const name = `plant-store ${usage}`;
  if (columnsOf(`${name}: ${summary}`) <= columns) return [`${heading(name)}: ${summary}`];
  const indent = "  ";
  return [`${heading(name)}:`, ...wrapped(summary, columns - indent.length).map((line) => indent + line)];
}

/** An example; one that is too long for the width goes on after a backslash, so that it can be copied. */
function exampleLines(example: string, columns: number): string {
  const indent = "  ";
  if (columnsOf(indent + example) <= columns) return indent + example;
  const ending = " \\";
  // A no-break space keeps a flag and its value on one line.
  const words = example.replaceAll(/(--\S+) (?![-<>])/g, "$1\u00a0");
  const lines = wrapped(words, columns - 2 * indent.length - ending.length);
  return indent + lines.join(`${ending}\n${indent}${indent}`).replaceAll("\u00a0", " ");
}

/** Every flag and what it is for, in lists under headings, which are aligned with each other. */
function flagLines(command: Command, heading: (text: string) => string, columns: number): string[] {
  const known = flagsOf(command);
  const termOf = (name: string): string => {
    const placeholder = known.get(name)?.placeholder;
    return placeholder === undefined ? `--${name}` : `--${name} ${placeholder}`;
  };
  const widest = Math.max(...Array.from(known.keys(), (name) => termOf(name).length));
  return flagGroups(command).flatMap(({ title, note, names }, index) => {
    const terms = names.map((name) => [termOf(name).padEnd(widest), known.get(name)?.help ?? ""] as const);
    return [
      ...(index === 0 ? [] : [""]),
      headingLine(title, note, heading, columns),
      formatTerms(terms, "  ", columns),
    ];
  });
}

/** A heading with what is said after it. */
function headingLine(
  title: string,
  note: string,
  heading: (text: string) => string,
  columns: number,
): string {
  return wrapped(`${title} ${note}`.trim(), columns).join("\n").replace(title, heading(title));
}

interface FlagGroup {
  readonly title: string;
  /** What is said after the title; may be empty. */
  readonly note: string;
  /** The flags, without their dashes. */
  readonly names: readonly string[];
}

/** The flags of the command itself, then its settings: in one list, or in several if it has all of them. */
function flagGroups(command: Command): FlagGroup[] {
  const own = { title: "Flags", note: "", names: Object.keys(ownFlagsOf(command)) };
  return [own, ...settingLists(command.settings ?? [])].filter(({ names }) => names.length > 0);
}

function settingLists(names: readonly SettingName[]): FlagGroup[] {
  const used = names.map((name) => settings[name]);
  const flags = (of: typeof used) => of.map(({ flag }) => flag);
  if (names === settingNames)
    return Array.from(
      Map.groupBy(used, ({ group }) => group),
      ([title, of]) => ({ title, note: "", names: flags(of) }),
    );
  const note = `(also as variables, such as ${used[0]?.variable})`;
  return [{ title: "Settings", note, names: flags(used) }];
}

function commandRows(commands: Readonly<Record<string, Command>>): [term: string, meaning: string][] {
  const rows = Object.entries(commands).map(([name, { summary }]) => {
    const [first = "", verb] = name.split(" ");
    return [
      first,
      verb === undefined ? summary : `${eitherOf(verbsOf(commands, first))} a ${first}`,
    ] as const;
  });
  // The commands of `token` share a row.
  return [...new Map(rows)];
}

function secretLines(command: Command, heading: (text: string) => string, columns: number): string[] {
  const rows = secretNamesOf(command).map(
    (name) => [secrets[name].variable, command.secrets?.[name] ?? ""] as const,
  );
  if (rows.length === 0) return [];
  const note = "(append _FILE to a name to read the value from a file)";
  return ["", headingLine("Environment", note, heading, columns), formatTerms(rows, "  ", columns)];
}
