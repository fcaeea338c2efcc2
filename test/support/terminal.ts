import { readFileSync } from "node:fs";
import { runCommand } from "../../src/cli/run.ts";
import type { Process } from "../../src/cli/terminal.ts";
import { bareEnvironment, executable, type Finished, listeningLine, plantStore } from "./command.ts";
import { eventually } from "./eventually.ts";
import { findSecrets } from "./tokens.ts";

/**
 * Runs a command in this process, which takes a tenth of the time of a separate one. For what a command does and prints; for
 * what its process does, use `plantStore`, which can also run the single executable.
 */
export async function runInProcess(
  args: readonly string[],
  {
    environment = {},
    waitForStopSignal = () => new Promise(() => {}),
    written = { out: "", err: "" },
    terminal = {},
  }: {
    readonly environment?: Record<string, string>;
    readonly waitForStopSignal?: () => Promise<string>;
    /** What it has written so far. */
    readonly written?: { out: string; err: string };
    /** What this terminal does otherwise than one that is none. */
    readonly terminal?: Partial<Process>;
  } = {},
): Promise<Finished> {
  if (executable !== undefined) return plantStore(args, { environment });
  const collect = (stream: "out" | "err") => (text: string | Uint8Array) => {
    written[stream] += text;
  };
  const unused = (): never => {
    throw new Error("no test that runs in this process needs this");
  };
  const exit = Promise.withResolvers<number>();
  const ended = runCommand(args, {
    environment: { ...bareEnvironment, ...environment },
    readFile: (path) => readFileSync(path, "utf8"),
    input: unused,
    out: collect("out"),
    outFlushed: async () => true,
    err: collect("err"),
    errHasColour: false,
    outIsTerminal: false,
    errIsTerminal: false,
    errCanRedraw: false,
    errIsJournal: false,
    outColumns: 80,
    errColumns: 80,
    waitForStopSignal,
    // The command goes on, which a process would not; what it prints then is not returned.
    exitWithoutClosing: (code) => {
      exit.resolve(code);
      return new Promise<never>(() => {});
    },
    ...terminal,
  });
  const code = await Promise.race([exit.promise, ended]);
  // Secrets are data, for standard output.
  if (findSecrets(written.err).length > 0) throw new Error("A secret was written to standard error.");
  return { code, ...written };
}

/** Runs `serve` in this process, and returns once it listens. */
export async function serveInProcess(args: readonly string[], environment: Record<string, string> = {}) {
  const written = { out: "", err: "" };
  const stop = Promise.withResolvers<string>();
  const options = { environment, written, waitForStopSignal: () => stop.promise };
  const ended = runInProcess(["serve", "--drain-timeout", "0s", ...args], options);
  const listening = () => listeningLine.exec(written.err);
  await Promise.race([ended, eventually(() => listening() !== null, "serve to listen")]);
  const [line, url = ""] = listening() ?? [];
  if (line === undefined) {
    const { code, err } = await ended;
    throw new Error(`serve ended with ${code}: ${err}`);
  }
  return {
    url,
    out: () => written.out,
    err: () => written.err,
    ended,
    async [Symbol.asyncDispose]() {
      stop.resolve("SIGTERM");
      await ended;
    },
  };
}
