import { type Command, flagsOf, secretsOf, settingsOf } from "./command.ts";
import { formatColumns, wrapped } from "./terminal.ts";

type Terms = readonly (readonly [term: string, meaning: string])[];

// Whatever the terminal has, a help is laid out for this.
const columns = 80;

/** Every command, on one screen. */
export function generalHelp(commands: Readonly<Record<string, Command>>): string {
  const terms = Object.entries(commands).map(([name, { summary }]) => [name, summary] as const);
  return [
    formatTerms("plant-store: a durable intake for plant records.", terms),
    "For details, run plant-store COMMAND --help. README.md and docs/ have more.\n",
  ].join("\n\n");
}

export function commandHelp(name: string, command: Command): string {
  const { argument, summary, examples, isService } = command;
  const groups = Map.groupBy(flagsOf(command), ({ group }) => group);
  const environment = environmentTerms(command);
  return [
    wrapped(`plant-store ${name}${argument ? ` ${argument.name}` : ""}: ${summary}`, columns).join("\n  "),
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
