import type { ConfigSources } from "../config/read-config.ts";
import type { SecretName, SettingName } from "../config/settings.ts";
import type { Terminal } from "./terminal.ts";

/** A flag of one command that is not a setting. */
export interface Flag {
  /** The name of its value in the help; a boolean flag has none. */
  readonly placeholder?: string;
  readonly multiple?: boolean;
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
  /** Such as `token create --name NAME`. */
  readonly usage: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly flags?: Readonly<Record<string, Flag>>;
  /** Whether it needs an argument that is not a flag. */
  readonly positional?: true;
  /** The settings that it accepts as flags. */
  readonly settings?: readonly SettingName[];
  /** The secrets that it reads from the environment, and what for. */
  readonly secrets?: Readonly<Partial<Record<SecretName, string>>>;
  /** Returns the exit code. `run.ts` prints the message of an expected error. */
  run(args: Arguments, terminal: Terminal): Promise<number>;
}

export const jsonFlag: Flag = { help: "print JSON" };

/** A command's own flags and those that every command has; the service has --log-level instead of --quiet. */
export function flagsOf({ usage, flags }: Pick<Command, "usage" | "flags">): Readonly<Record<string, Flag>> {
  return usage === "serve" ? { ...flags } : { ...flags, quiet: { help: "print no messages but errors" } };
}
