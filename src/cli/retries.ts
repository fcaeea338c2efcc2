// How long a command that sends requests goes on while the service does not respond.
import { hourMs } from "../text/duration.ts";
import { countFrom } from "../text/parsers.ts";
import { readFlag } from "./arguments.ts";
import type { Arguments, Flag } from "./command.ts";

// This many attempts take at least 15 seconds, even if jitter halves each delay and each attempt fails immediately.
const attemptsDefault = 12;
const attemptsLimit = 10_000;

/** Options of the client. */
export const retries = { timeoutMs: 30_000, backoffMs: 250, backoffMsMax: 4000, patienceMs: hourMs };

export const attemptsFlag: Flag = {
  placeholder: "COUNT",
  help: `how often to try while the service does not respond (${attemptsDefault})`,
};

export function readAttempts(args: Arguments): number {
  return readFlag(args, "attempts", countFrom(1, attemptsLimit)) ?? attemptsDefault;
}
