import { withoutPassword } from "../config/database.ts";
import { Problem } from "../system/problem.ts";
import { describeInvalid, InvalidValue, type Parser } from "../text/parsers.ts";

/** The command line is wrong. The message is one sentence without its full stop; the exit code is 2. */
export class UsageError extends Problem {
  /** What was probably meant, as a question; empty if nothing is near. */
  readonly suggestion: string;

  constructor(message: string, meant?: string) {
    super(message, { exitCode: 2 });
    this.suggestion = meant === undefined ? "" : `Did you mean ${meant}?`;
  }
}

/** @throws UsageError if the text of `name` is invalid */
export function parseArgument<Value>(name: string, text: string, parse: Parser<Value>): Value {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof InvalidValue)
      throw new UsageError(describeInvalid(name, error, withoutPassword(text)));
    throw error;
  }
}
