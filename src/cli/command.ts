import type { SettingName } from "../config/settings.ts";
import type { Arguments, Flag } from "./flags.ts";
import type { Terminal } from "./terminal.ts";

export interface Command {
  /** How it is called, such as `token create --name NAME`. */
  readonly usage: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly flags: Readonly<Record<string, Flag>>;
  /** The settings that it takes as flags. */
  readonly settings: readonly SettingName[];
  /** Gives the exit code; what it throws is told in one sentence. */
  run(args: Arguments, terminal: Terminal): Promise<number>;
}
