import { type Setting, secrets } from "../config/settings.ts";
import { eitherOf } from "../text/words.ts";
import { type Command, ownFlagsOf, secretNamesOf, secretsOf, settingsOf } from "./command.ts";
import { formatColumns, wrapped } from "./terminal.ts";

type Commands = Readonly<Record<string, Command>>;

// What a person runs first.
const firstCommands = [
  ["plant-store serve", "run the service"],
  ["plant-store token create --name greenhouse", "create a token for a client"],
] as const;
// Whatever the terminal has, a help is laid out for this.
const columns = 80;

/** Every command, on one screen. */
export function generalHelp(commands: Commands): string {
  return [
    "plant-store: a durable intake for plant records. Examples:",
    formatColumns(firstCommands, "  ", columns),
    "",
    "Commands",
    formatColumns(commandRows(commands), "  ", columns),
    "",
    "For details, run plant-store COMMAND --help. README.md and docs/ have more.",
    "",
  ].join("\n");
}

/** The second words of the commands that begin with this one. */
export function verbsOf(commands: Commands, first: string): string[] {
  return Object.keys(commands).flatMap((name) =>
    name.startsWith(`${first} `) ? (name.split(" ")[1] ?? []) : [],
  );
}

export function commandHelp(command: Command): string {
  const { usage, summary, examples, isService } = command;
  const paragraphs = [
    wrapped(`plant-store ${usage}: ${summary}`, columns).join("\n  "),
    `Examples\n${examples.map((example) => `  ${example}`).join("\n")}`,
    ...flagLists(command).map(({ heading, note, terms }) =>
      [`${heading} ${note}`.trim(), formatColumns(terms, "  ", columns)].join("\n"),
    ),
    `Exit codes\n  ${
      isService ? "0 stopped, 1 failed, 2 misused" : "0 done, 1 failed, 2 misused, 130 or 143 interrupted"
    }`,
  ];
  return `${paragraphs.join("\n\n")}\n`;
}

interface TermList {
  readonly heading: string;
  /** What is said after the heading; may be empty. */
  readonly note: string;
  readonly terms: readonly (readonly [term: string, meaning: string])[];
}

/** The flags of the command itself, then its settings in their groups, and the secrets that it reads. */
function flagLists(command: Command): TermList[] {
  const own = Object.entries(ownFlagsOf(command)).map(
    ([name, { placeholder, help }]) => [`--${name} ${placeholder}`.trim(), help] as const,
  );
  const secretTerms = secretNamesOf(command).map(
    (name) => [secrets[name].variable, secretsOf(command)[name] ?? ""] as const,
  );
  const lists = [
    { heading: "Flags", note: "", terms: own },
    ...settingLists(settingsOf(command)),
    {
      heading: "Environment",
      note: "(append _FILE to a name to read the value from a file)",
      terms: secretTerms,
    },
  ];
  return lists.filter(({ terms }) => terms.length > 0);
}

function settingLists(used: readonly Setting<unknown>[]): TermList[] {
  const groups = Map.groupBy(used, ({ group }) => group);
  return Array.from(groups, ([heading, settings], index) => ({
    heading,
    note: index === 0 ? `(also as variables, such as ${settings[0]?.variable})` : "",
    terms: settings.map(({ flag, placeholder, help, default: text }) => [
      `--${flag} ${placeholder}`,
      text === "" ? help : `${help} (${text})`,
    ]),
  }));
}

function commandRows(commands: Commands): [term: string, meaning: string][] {
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
