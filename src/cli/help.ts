import { eitherOf } from "../text/words.ts";
import { type Command, flagsOf, secretsOf, settingsOf } from "./command.ts";
import { formatColumns, wrapped } from "./terminal.ts";

type Commands = Readonly<Record<string, Command>>;
type Terms = readonly (readonly [term: string, meaning: string])[];

// What a person runs first.
const firstCommands: Terms = [
  ["plant-store serve", "run the service"],
  ["plant-store token create --name greenhouse", "create a token for a client"],
];
// Whatever the terminal has, a help is laid out for this.
const columns = 80;

/** Every command, on one screen. */
export function generalHelp(commands: Commands): string {
  return [
    formatTerms("plant-store: a durable intake for plant records. Examples:", firstCommands),
    formatTerms("Commands", commandTerms(commands)),
    "For details, run plant-store COMMAND --help. README.md and docs/ have more.\n",
  ].join("\n\n");
}

/** The second words of the commands that begin with this one. */
export function verbsOf(commands: Commands, first: string): string[] {
  return Object.keys(commands).flatMap((name) =>
    name.startsWith(`${first} `) ? (name.split(" ")[1] ?? []) : [],
  );
}

export function commandHelp(command: Command): string {
  const { usage, summary, examples, isService } = command;
  const groups = Map.groupBy(flagsOf(command), ({ group }) => group);
  const environment = environmentTerms(command);
  return [
    wrapped(`plant-store ${usage}: ${summary}`, columns).join("\n  "),
    `Examples\n${examples.map((example) => `  ${example}`).join("\n")}`,
    ...Array.from(groups, ([group, flags]) =>
      formatTerms(
        group,
        flags.map(({ name, placeholder, help }) => [`--${name} ${placeholder}`.trim(), help]),
      ),
    ),
    ...(environment.length === 0 ? [] : [formatTerms("Environment", environment)]),
    `Exit codes\n  ${isService ? "0 stopped, 1 failed, 2 misused" : "0 done, 1 failed, 2 misused, 130 or 143 interrupted"}\n`,
  ].join("\n\n");
}

function environmentTerms(command: Command): Terms {
  const [first] = settingsOf(command);
  const secrets = secretsOf(command).map(
    ({ variable, meaning }) => [variable, `${meaning}; or …_FILE with its path`] as const,
  );
  if (first === undefined) return secrets;
  return [[first.variable, `in place of --${first.flag}; each setting has such a variable`], ...secrets];
}

function formatTerms(heading: string, terms: Terms): string {
  return `${heading}\n${formatColumns(terms, "  ", columns)}`;
}

function commandTerms(commands: Commands): Terms {
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
