import packageFile from "../../package.json" with { type: "json" };
import { TokenProblem } from "../access/tokens.ts";
import { ConfigProblem } from "../config/read-config.ts";
import { FormatError } from "../files/input-row.ts";
import { ListenProblem } from "../http/listen-address.ts";
import { OutcomeUnknown, StoreUnavailable } from "../plants/plant-store.ts";
import { DatabaseMisuse, DatabaseProblem } from "../storage/postgres/database-url.ts";
import { DataFileProblem } from "../storage/sqlite/data-file-problem.ts";
import { WorkerProblem } from "../workers/crew.ts";
import { backup, restore, verify } from "./backup.ts";
import type { Command } from "./command.ts";
import { config } from "./config.ts";
import { copy } from "./copy.ts";
import { errors } from "./errors.ts";
import { exportPlants } from "./export.ts";
import { readArguments } from "./flags.ts";
import { commandHelp, generalHelp } from "./help.ts";
import { InputProblem } from "./import/input.ts";
import { importPlants } from "./import.ts";
import { list, show } from "./list.ts";
import { openapi } from "./openapi.ts";
import { serve } from "./serve.ts";
import { Misuse, type Terminal } from "./terminal.ts";
import { tokenCreate, tokenList, tokenRevoke, tokenRotate } from "./token.ts";

const exit = { done: 0, failed: 1, misused: 2 } as const;
const foreseen = [
  TokenProblem,
  ListenProblem,
  DataFileProblem,
  DatabaseProblem,
  StoreUnavailable,
  OutcomeUnknown,
  WorkerProblem,
  InputProblem,
  FormatError,
];

/** Every command, by the words that call it. */
export const commands: Readonly<Record<string, Command>> = {
  serve,
  "token create": tokenCreate,
  "token list": tokenList,
  "token rotate": tokenRotate,
  "token revoke": tokenRevoke,
  list,
  show,
  export: exportPlants,
  import: importPlants,
  copy,
  backup,
  restore,
  verify,
  openapi,
  config,
  errors,
};

/** Runs what the command line asks for and gives the exit code: 0 done, 1 failed, 2 misused. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    if (args.length === 0) {
      terminal.err(help(undefined, false, terminal.colourErr));
      return exit.misused;
    }
    const helpWanted = args.includes("--help") || args.includes("-h") || args[0] === "help";
    const words = args[0] === "help" ? args.slice(1) : args;
    const { command, rest } = chosen(words, helpWanted);
    if (helpWanted) {
      terminal.out(help(command, words[0] === "token", terminal.colourOut));
      return exit.done;
    }
    if (args[0] === "--version") {
      terminal.out(`${packageFile.version}\n`);
      return exit.done;
    }
    if (command === undefined)
      throw new Misuse(`there is no command before ${flagName(args)}; it comes first, such as serve`);
    return await command.run(readArguments(rest, command.flags, command.settings), terminal);
  } catch (error) {
    const code = told(error, terminal);
    return error instanceof OutcomeUnknown ? terminal.exitWithoutClosing(code) : code;
  }
}

function chosen(
  words: readonly string[],
  helpWanted: boolean,
): { command: Command | undefined; rest: readonly string[] } {
  for (const count of [2, 1]) {
    const name = words.slice(0, count).join(" ");
    // Only its own: every object also has a `constructor`.
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command !== undefined) return { command, rest: words.slice(count) };
  }
  const [word] = words;
  if (word === "token" && !helpWanted) throw new Misuse("token takes create, list, rotate or revoke");
  if (word !== undefined && word !== "token" && !word.startsWith("-")) throw unknownCommand(word);
  return { command: undefined, rest: words };
}

function help(command: Command | undefined, ofTokens: boolean, colour: boolean): string {
  if (command !== undefined) return commandHelp(command, colour);
  if (!ofTokens) return generalHelp(Object.values(commands), colour);
  const family = [tokenCreate, tokenList, tokenRotate, tokenRevoke];
  return family.map((each) => commandHelp(each, colour)).join("\n");
}

// Without its value, which may hold a password.
function flagName([flag = ""]: readonly string[]): string {
  return flag.split("=")[0] ?? "";
}

function unknownCommand(word: string): Misuse {
  return new Misuse(`there is no command "${word}"`);
}

function told(error: unknown, terminal: Terminal): number {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Misuse) {
    terminal.err(`plant-store: ${message}. See plant-store --help.\n`);
    return exit.misused;
  }
  if (error instanceof ConfigProblem || error instanceof DatabaseMisuse) {
    terminal.err(`plant-store: ${message}\n`);
    return exit.misused;
  }
  if (foreseen.some((kind) => error instanceof kind)) {
    terminal.err(`plant-store: ${message}\n`);
    return exit.failed;
  }
  // Not foreseen, so here the stack helps: it is the operator's own terminal, not an answer to a client.
  terminal.err(
    `plant-store: internal error, please report it: ${error instanceof Error ? error.stack : message}\n`,
  );
  return exit.failed;
}
