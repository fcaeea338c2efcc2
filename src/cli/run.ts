import { OutcomeUnknown, StoreUnavailable } from "../plants/plant-store.ts";
import { waitAtMost } from "../retry/wait-at-most.ts";
import { messageOf } from "../system/errors.ts";
import { misuse, Problem } from "../system/problem.ts";
import { withPriority } from "../telemetry/log.ts";
import { capitalized, eitherOf } from "../text/words.ts";
import { type Arguments, parseArguments } from "./arguments.ts";
import { audit } from "./audit.ts";
import { backup } from "./backup.ts";
import { type Command, secretsOf } from "./command.ts";
import { config } from "./config.ts";
import { copy } from "./copy.ts";
import { doctor } from "./doctor.ts";
import { exportPlants } from "./export.ts";
import { exposureWarnings } from "./exposed-secrets.ts";
import { follow } from "./follow.ts";
import { commandHelp, generalHelp } from "./help.ts";
import { importPlants } from "./import.ts";
import { list } from "./list.ts";
import { ready } from "./ready.ts";
import { restore } from "./restore.ts";
import { serve } from "./serve.ts";
import { show } from "./show.ts";
import { didYouMean, nearestWord } from "./suggestion.ts";
import { interruptedCode, type Process, type Terminal, terminalOf } from "./terminal.ts";
import { tokenCreate, tokenList, tokenRevoke, tokenRotate } from "./token.ts";
import { verify } from "./verify.ts";
import { version } from "./version.ts";

const exitCodes = { success: 0, failure: 1, usage: 2 } as const;
const versionFlags = ["--version", "-v"];
// Of a command that was interrupted, after which what it printed is lost if nobody has read it.
const flushMsMax = 1000;

/** Every command by its name. */
export const commands: Readonly<Record<string, Command>> = {
  serve,
  "token create": tokenCreate,
  "token list": tokenList,
  "token rotate": tokenRotate,
  "token revoke": tokenRevoke,
  audit,
  list,
  show,
  export: exportPlants,
  follow,
  import: importPlants,
  backup,
  restore,
  verify,
  copy,
  config,
  doctor,
  ready,
  version,
};

/** Runs the command and returns the exit code: 0 success, 1 failure, 2 wrong usage, 130 or 143 interrupted. */
export async function runCommand(args: readonly string[], given: Process): Promise<number> {
  const terminal = terminalOf(given);
  // Whose help explains a wrong usage: that of the command, once it is known.
  let helpTopic = "";
  try {
    // The help, of one command or of all.
    if (args.length === 0) {
      terminal.err(generalHelp(commands));
      return exitCodes.usage;
    }
    if (args[0] === "help" || args.includes("--help") || args.includes("-h")) {
      terminal.out(help(args[0] === "help" ? args.slice(1) : args));
      await terminal.outFlushed();
      return exitCodes.success;
    }

    // The command, and the rest of the arguments as it reads them.
    const words = versionFlags.includes(args[0] ?? "") ? ["version"] : args;
    const found = findCommand(words);
    if (found === undefined) throw unknownCommandError(args);
    const [name, command] = found;
    helpTopic = name;
    const parsed = parseArguments(args.slice(name.split(" ").length), command, given);

    // A service logs its warnings, handles signals by itself, and goes on if nobody reads what it prints.
    if (command.isService) return await execute(command, parsed, terminalOf(given, { isLog: true }));
    for (const warning of exposureWarnings(parsed.sources, secretsOf(command)))
      terminal.warn(`${capitalized(warning)}.`);
    const ownTerminal = terminalOf(given, { isQuiet: parsed.flags["quiet"] === true });
    const code = execute(command, parsed, ownTerminal);
    const isFlushed = code.then(() => terminal.outFlushed());
    const ended = await Promise.race([isFlushed.then(() => code), given.waitForStopSignal()]);
    return typeof ended === "number" ? ended : await endInterrupted(ended, ownTerminal);
  } catch (error) {
    const { text, code } = errorReport(error, helpTopic, terminal);
    terminal.err(text);
    return mustStayOpen(error) ? terminal.exitWithoutClosing(code) : code;
  }
}

/** Opens what the command works on, and runs it. */
async function execute(command: Command, given: Arguments, terminal: Terminal): Promise<number> {
  await using opened = await command.opens?.open(given.sources, terminal);
  const isGood = await command.run({ ...given, opened }, terminal);
  return isGood ? exitCodes.success : exitCodes.failure;
}

/**
 * Ends the process at a signal to stop, as a kill would end it: the thread that does the work cannot be stopped in the middle of a
 * statement. Whatever a command has open survives that, and what it leaves, its next run removes.
 */
async function endInterrupted(signal: string, terminal: Terminal): Promise<number> {
  terminal.showLine("");
  terminal.reportInterrupted();
  // What the command has printed; a reader that has paused does not keep a stop waiting.
  await waitAtMost(flushMsMax, terminal.outFlushed());
  return terminal.exitWithoutClosing(interruptedCode(signal));
}

/** Whether the process must end without closing the store. Any of several failures may demand that. */
function mustStayOpen(error: unknown): boolean {
  return failuresIn(error).some(
    (each) => each instanceof OutcomeUnknown || (each instanceof Problem && each.keptOpen !== undefined),
  );
}

/** The failure of a command, and those to close what it had open. The first is the reason, and decides the exit code. */
function failuresIn(error: unknown): unknown[] {
  return error instanceof SuppressedError
    ? [...failuresIn(error.suppressed), ...failuresIn(error.error)]
    : [error];
}

function findCommand(args: readonly string[]): [string, Command] | undefined {
  return Object.entries(commands).find(([name]) =>
    name.split(" ").every((word, index) => word === args[index]),
  );
}

function unknownCommandError([first = "", second = ""]: readonly string[]): Problem {
  // The value of the flag is left out, since it may contain a password.
  if (first.startsWith("-")) return misuse(`Put a command before ${first.split("=")[0]}, such as serve.`);
  const names = Object.keys(commands);
  const group = namesInGroup(first);
  const nearest = second === "" ? undefined : nearestWord(`${first} ${second}`, names);
  const others = group.length > 0 ? eitherOf(group) : nearestWord(first, names);
  return misuse(`Unknown command "${first}".${didYouMean(nearest ?? others)}`);
}

function help(args: readonly string[]): string {
  const found = findCommand(args);
  const [first = "-"] = args;
  if (found !== undefined) return commandHelp(...found);
  if (!first.startsWith("-") && namesInGroup(first).length === 0) throw unknownCommandError(args);
  return generalHelp(commands);
}

/** The commands whose name begins with that word and has a second one, such as `token create`. */
function namesInGroup(first: string): string[] {
  return Object.keys(commands).filter((name) => name.startsWith(`${first} `));
}

/** Why the command failed, as a message for standard error, with its priority if journald reads it; and the exit code. */
export function errorReport(
  error: unknown,
  command: string,
  { errIsJournal }: Pick<Process, "errIsJournal">,
): { readonly text: string; readonly code: number } {
  const errors = failuresIn(error);
  const text = errors.map((each) => `plant-store: ${explained(each, command)}\n`).join("");
  const [first] = errors;
  return {
    text: errIsJournal ? withPriority("error", text) : text,
    code: first instanceof Problem ? first.exitCode : exitCodes.failure,
  };
}

/** The message, and what to do. */
function explained(error: unknown, command: string): string {
  const message = messageOf(error);
  if (error instanceof Problem) {
    // After cases, such as a command to run, this would be read as part of the last.
    const isMisuse = error.exitCode === exitCodes.usage && error.cases.length === 0;
    const topic = command === "" ? "" : `${command} `;
    const lines = [error.sentence, ...error.cases].join("\n  ");
    return isMisuse ? `${lines} See plant-store ${topic}--help.` : lines;
  }
  // What a database server says begins with a small letter.
  if (error instanceof StoreUnavailable) return capitalized(message);
  if (error instanceof OutcomeUnknown) return message;
  // The stack is for the operator's terminal; no client sees it.
  return `Internal error, please report it: ${error instanceof Error ? error.stack : message}`;
}
