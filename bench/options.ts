import { parseArgs } from "node:util";

export interface Bench {
  /** Its arguments. */
  readonly usage: string;
  readonly summary: string;
  /** By default. */
  readonly rounds: number;
  readonly run: (options: BenchOptions) => Promise<void>;
}

export interface BenchOptions {
  readonly rounds: number;
  /** Whether the files of results and their charts are changed. */
  readonly write: boolean;
  /** One short round, to check that everything works; its numbers mean nothing. */
  readonly quick: boolean;
  readonly positional: readonly string[];
}

/** The arguments are wrong; the message says how. */
export class MisusedError extends Error {}

export function benchOptions(args: readonly string[], defaultRounds: number): BenchOptions {
  const { values, positionals } = parse(args);
  const { quick, write } = values;
  if (write && quick)
    throw new MisusedError("A quick run is too short to be written: use --quick or --write.");
  const rounds = Number(values.rounds ?? (quick ? 1 : defaultRounds));
  if (!Number.isInteger(rounds) || rounds < 1) throw new MisusedError("--rounds needs a number from 1.");
  return { rounds, quick, write, positional: positionals };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        rounds: { type: "string" },
        quick: { type: "boolean", default: false },
        write: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    throw new MisusedError((error as Error).message);
  }
}

export function readMillions(text: string): number {
  if (!/^\d+(?:\.\d+)?$/.test(text))
    throw new MisusedError(`${JSON.stringify(text)} is not a number of millions, such as 10 or 0.1.`);
  return Number(text);
}
