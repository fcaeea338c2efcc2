import { type SecretName, secrets } from "../config/secrets.ts";
import { settings } from "../config/settings.ts";
import { type Command, flagsOf } from "./command.ts";
import { bold, formatColumns } from "./terminal.ts";

export function generalHelp(commands: readonly Command[], colour: boolean): string {
  const heading = (text: string) => bold(text, colour);
  return [
    heading("plant-store: a durable intake for plant records"),
    "",
    heading("Examples"),
    "  plant-store serve                            run the service with its embedded store",
    "  plant-store token create --name greenhouse   create a token for a client",
    "  plant-store import plants.csv                import plants from a file",
    "  plant-store list --tag indoor                list the newest plants with this tag",
    "  plant-store backup plants-backup.db          back up the data file, even while the service runs",
    "  plant-store doctor                           check the machine and the store",
    "",
    heading("Commands"),
    formatColumns(
      commands.map(({ usage, summary }) => [usage, summary]),
      "  ",
    ),
    "",
    heading("Settings"),
    "  A flag or an environment variable: --max-body-bytes is PLANT_STORE_MAX_BODY_BYTES. Flags take precedence.",
    "",
    formatColumns(settingRows(Object.values(settings)), "  "),
    "",
    "  Secrets are environment variables only. With _FILE added to its name, a variable names a file to read:",
    "",
    formatColumns(
      Object.values(secrets).map(({ environment, help }) => [environment, help]),
      "  ",
    ),
    "",
    "plant-store COMMAND --help explains a command; plant-store --version prints the version.",
    "",
  ].join("\n");
}

export function commandHelp(command: Command, colour: boolean): string {
  const heading = (text: string) => bold(text, colour);
  const commandFlags = Object.entries(flagsOf(command)).map(([name, { placeholder, help }]) => [
    `--${name}${placeholder === undefined ? "" : ` ${placeholder}`}`,
    help,
  ]);
  const flags = [...commandFlags, ...settingRows((command.settings ?? []).map((name) => settings[name]))];
  return [
    `${heading(`plant-store ${command.usage}`)}: ${command.summary}`,
    "",
    heading("Examples"),
    ...command.examples.map((example) => `  ${example}`),
    ...(flags.length > 0 ? ["", heading("Flags"), formatColumns(flags, "  ")] : []),
    ...secretLines(command.secrets, heading),
    "",
  ].join("\n");
}

function secretLines(used: Command["secrets"] = {}, heading: (text: string) => string): string[] {
  const rows = Object.entries(used).map(([name, help]) => [secrets[name as SecretName].environment, help]);
  if (rows.length === 0) return [];
  return [
    "",
    `${heading("Environment")} (with _FILE added to its name, a variable names a file to read)`,
    formatColumns(rows, "  "),
  ];
}

function settingRows(all: readonly (typeof settings)[keyof typeof settings][]): string[][] {
  return all.map(({ flag, placeholder, help, default: text }) => [
    `--${flag} ${placeholder}`,
    `${help}${text === "" ? "" : ` (${text})`}`,
  ]);
}
