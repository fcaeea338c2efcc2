import type { ConfigSources } from "../config/read-config.ts";
import { type SecretName, type SettingName, secrets, settings } from "../config/settings.ts";
import { eitherOf } from "../text/words.ts";
import { bold, columnsOf, formatColumns, formatTerms, type Terminal, wrapped } from "./terminal.ts";

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
  readonly positional?: true;
  /** The settings that it accepts as flags. */
  readonly settings?: readonly SettingName[];
  /** Those settings under headings, for the help of a command with many. */
  readonly settingGroups?: SettingGroups;
  /** The secrets that it reads from the environment, and what for. */
  readonly secrets?: Readonly<Partial<Record<SecretName, string>>>;
  /** Returns the exit code. `run.ts` prints the message of an expected error. */
  run(args: Arguments, terminal: Terminal): Promise<number>;
}

/** The settings under each heading. */
export type SettingGroups = Readonly<Record<string, readonly SettingName[]>>;

export const jsonFlag: Flag = { help: "print JSON" };

/** The settings of every command that opens the store, on either engine. */
export const storeSettings: readonly SettingName[] = ["database", "allowUnsafeDatabase"];

/** Every flag of a command, those of its settings included. */
export function flagsOf(command: Command): ReadonlyMap<string, Flag> {
  const flags = Object.entries(command.flags ?? {});
  if (!command.isService) flags.push(["quiet", { help: "print only errors" }]);
  for (const name of command.settings ?? []) {
    const { flag, placeholder, help, default: text } = settings[name];
    flags.push([flag, { placeholder, help: text === "" ? help : `${help} (${text})` }]);
  }
  return new Map(flags);
}

/** Every command on one screen of 80 columns. */
export function generalHelp(commands: Readonly<Record<string, Command>>, colour: boolean): string {
  return [
    `${bold("plant-store", colour)}: a durable intake for plant records. Examples:`,
    "",
    "  plant-store serve                            run the service",
    "  plant-store token create --name greenhouse   create a token for a client",
    "",
    bold("Commands", colour),
    formatColumns(commandRows(commands), "  "),
    "",
    "For details, run plant-store COMMAND --help. README.md and docs/ have more.",
    "",
  ].join("\n");
}

/** The second words of the commands that begin with this one. */
export function verbsOf(commands: Readonly<Record<string, Command>>, first: string): string[] {
  return Object.keys(commands).flatMap((name) =>
    name.startsWith(`${first} `) ? (name.split(" ")[1] ?? []) : [],
  );
}

export function commandHelp(command: Command, colour: boolean, columns: number): string {
  const heading = (text: string) => bold(text, colour);
  return [
    ...titleLines(command, heading, columns),
    "",
    heading("Examples"),
    ...command.examples.map((example) => `  ${example}`),
    "",
    ...flagLines(command, heading, columns),
    ...secretLines(command.secrets, heading, columns),
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

/** Every flag and what it is for, in one list or, aligned with each other, in one under each heading. */
function flagLines(command: Command, heading: (text: string) => string, columns: number): string[] {
  const known = flagsOf(command);
  const groups = Object.entries(command.settingGroups ?? {}).map(
    ([title, names]) => [title, names.map((name) => settings[name].flag)] as const,
  );
  const all = groups.length === 0 ? [["Flags", [...known.keys()]] as const] : groups;
  const termOf = (name: string): string => {
    const placeholder = known.get(name)?.placeholder;
    return placeholder === undefined ? `--${name}` : `--${name} ${placeholder}`;
  };
  const widest = Math.max(...Array.from(known.keys(), (name) => termOf(name).length));
  return all.flatMap(([title, names], index) => {
    const terms = names.map((name) => [termOf(name).padEnd(widest), known.get(name)?.help ?? ""] as const);
    return [...(index === 0 ? [] : [""]), heading(title), formatTerms(terms, "  ", columns)];
  });
}

function commandRows(commands: Readonly<Record<string, Command>>): string[][] {
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

function secretLines(
  used: Command["secrets"] = {},
  heading: (text: string) => string,
  columns: number,
): string[] {
  const rows = Object.entries(used).map(([name, help]) => [secrets[name as SecretName], help] as const);
  if (rows.length === 0) return [];
  return [
    "",
    `${heading("Environment")} (append _FILE to a name to read the value from a file)`,
    formatTerms(rows, "  ", columns),
  ];
}
