/** What a shell needs to know about a command. */
export interface CommandWords {
  /** `list`, or `token create`. */
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly FlagWords[];
  /** Whether its argument is a file. */
  readonly acceptsFile: boolean;
}

export interface FlagWords {
  readonly flag: string;
  /** Undefined if it has no value. */
  readonly placeholder: string | undefined;
  readonly help: string;
}

/** The first words of all commands, each with its summary; a group has the names of its commands. */
export function firstWords(commands: readonly CommandWords[]): [word: string, summary: string][] {
  const words = new Map<string, string>();
  for (const { name, summary } of commands) {
    const [first = "", second] = name.split(" ");
    const before = words.get(first);
    if (second === undefined) words.set(first, summary);
    else words.set(first, before === undefined ? second : `${before}, ${second}`);
  }
  return [...words];
}

/** The second words of each group. */
export function groupsOf(commands: readonly CommandWords[]): Map<string, [word: string, summary: string][]> {
  const groups = new Map<string, [string, string][]>();
  for (const { name, summary } of commands) {
    const [first = "", second] = name.split(" ");
    if (second !== undefined) groups.set(first, [...(groups.get(first) ?? []), [second, summary]]);
  }
  return groups;
}

/** Whether the value of a flag is a path. */
export function isPath(placeholder: string | undefined): boolean {
  return /PATH|FILE|DATABASE/.test(placeholder ?? "");
}
