import { secrets, settings } from "../config/settings.ts";
import type { Command } from "./command.ts";
import { bold, columns } from "./terminal.ts";

export function generalHelp(commands: readonly Command[], colour: boolean): string {
  const heading = (text: string) => bold(text, colour);
  return [
    heading("plant-store: a durable intake for plant records"),
    "",
    heading("Examples"),
    "  plant-store serve                            run the service on its embedded store",
    "  plant-store token create --name greenhouse   make a token for a client",
    "  plant-store import plants.csv                send a file of plants",
    "  plant-store list --tag indoor                look at the newest ones",
    "  plant-store backup plants-backup.db          copy the store while it runs",
    "  plant-store errors 40020                     explain an error",
    "",
    heading("Commands"),
    columns(
      commands.map(({ usage, summary }) => [usage, summary]),
      "  ",
    ),
    "",
    heading("Settings"),
    "  As a flag, or as a variable: --max-body-bytes is PLANT_STORE_MAX_BODY_BYTES. The flag wins.",
    "",
    columns(settingRows(Object.values(settings)), "  "),
    "",
    "  Tokens given from outside come by variable alone, or by a file that NAME_FILE names:",
    "",
    columns(
      Object.values(secrets).map(({ environment, help }) => [environment, help]),
      "  ",
    ),
    "",
    "plant-store COMMAND --help tells more of one; --version prints the version.",
    "",
  ].join("\n");
}

export function commandHelp(command: Command, colour: boolean): string {
  const heading = (text: string) => bold(text, colour);
  const own = Object.entries(command.flags).map(([name, { placeholder, help }]) => [
    `--${name}${placeholder === undefined ? "" : ` ${placeholder}`}`,
    help,
  ]);
  const flags = [...own, ...settingRows(command.settings.map((name) => settings[name]))];
  return [
    `${heading(`plant-store ${command.usage}`)}: ${command.summary}`,
    "",
    heading("Examples"),
    ...command.examples.map((example) => `  ${example}`),
    ...(flags.length > 0 ? ["", heading("Flags"), columns(flags, "  ")] : []),
    "",
  ].join("\n");
}

function settingRows(shown: readonly (typeof settings)[keyof typeof settings][]): string[][] {
  return shown.map(({ flag, placeholder, help, default: text }) => [
    `--${flag} ${placeholder}`,
    `${help}${text === "" ? "" : ` (${text})`}`,
  ]);
}
