interface ProblemOptions extends ErrorOptions {
  /** 2 if the arguments or the configuration must change first. */
  readonly exitCode?: 1 | 2;
  /** What to do in each case. */
  readonly cases?: readonly string[];
  /** A connection that must not be closed before the process ends; garbage collection would close it. */
  readonly keptOpen?: object;
}

/** Why a command or a start fails, in a sentence for whoever runs it. `run.ts` prints it and ends with the exit code. */
export class Problem extends Error {
  override readonly name: string = "Problem";
  readonly exitCode: 1 | 2;
  /** The message without the cases. */
  readonly sentence: string;
  readonly cases: readonly string[];
  readonly keptOpen: object | undefined;

  constructor(sentence: string, { exitCode = 1, cases = [], keptOpen, ...options }: ProblemOptions = {}) {
    super([sentence, ...cases].join(" "), options);
    this.exitCode = exitCode;
    this.sentence = sentence;
    this.cases = cases;
    this.keptOpen = keptOpen;
  }
}

/** A problem that the arguments or the configuration cause. */
export function misuse(sentence: string): Problem {
  return new Problem(sentence, { exitCode: 2 });
}
