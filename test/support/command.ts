import { expect } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { eventually } from "./eventually.ts";
import { printIfTestFails } from "./service-logs.ts";
import { findSecrets } from "./tokens.ts";

export const launcher = fileURLToPath(new URL("../../bin/plant-store.js", import.meta.url));
/** What `plant-store` runs. */
export const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
/** The single executable, if the tests run against it: test/slow/built.test.ts. */
export const executable = process.env["PLANT_STORE_TEST_EXECUTABLE"];

export interface Finished {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly environment?: Record<string, string>;
  readonly folder?: string;
  /** Whether the test writes to its standard input, which is empty otherwise. */
  readonly writesInput?: boolean;
  /** Whether it leads its own process group, like a command typed into a shell. */
  readonly ownGroup?: boolean;
  /** By default Bun runs main.ts, as the launcher would: starting Node as well would double the time. */
  readonly through?: "launcher";
}

// Only what a process needs to run: the developer's own variables must not influence a test.
export const bareEnvironment = {
  PATH: process.env["PATH"] ?? "",
  HOME: process.env["HOME"] ?? "",
  TMPDIR: tmpdir(),
  // Free ports: many of these run in parallel, and the default ones may be in use.
  PLANT_STORE_LISTEN: "127.0.0.1:0",
  PLANT_STORE_OPERATOR_LISTEN: "127.0.0.1:0",
};

/** Runs a plant-store command to its end. */
export async function plantStore(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  return startPlantStore(args, options).ended;
}

/** Starts a plant-store command, for a test that observes or signals it while it runs. */
export function startPlantStore(args: readonly string[], options: RunOptions = {}) {
  const child = start(...commandLine(args, options), options);
  return { child, ...watch(child) };
}

/** The process that runs a plant-store command. */
export function commandLine(
  args: readonly string[],
  { through }: RunOptions = {},
): [command: string, args: readonly string[]] {
  if (executable !== undefined) return [executable, args];
  return through === "launcher" ? ["node", [launcher, ...args]] : [process.execPath, [main, ...args]];
}

/** The arguments of a shell that runs this script, in which `"$@"` is a plant-store command. */
export function shellArguments(script: string, args: readonly string[]): readonly string[] {
  const [command, rest] = commandLine(args);
  return ["-c", script, "sh", command, ...rest];
}

/** Starts a plant-store command on a terminal of its own. */
export function startOnTerminal(args: readonly string[]) {
  const [command, rest] = commandLine(args);
  let out = "";
  const child = Bun.spawn([command, ...rest], {
    env: bareEnvironment,
    terminal: {
      cols: 200,
      rows: 24,
      data(_, bytes) {
        out += new TextDecoder().decode(bytes);
      },
    },
  });
  return {
    child,
    out: () => out,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

export type Serving = Awaited<ReturnType<typeof untilListening>>;

/** Starts `serve` as a process and waits until it listens. */
export function serve(args: readonly string[], options: RunOptions = {}): Promise<Serving> {
  const { child, ...said } = startPlantStore(["serve", "--listen", "127.0.0.1:0", ...args], options);
  // The launcher cannot forward SIGKILL.
  return untilListening(child, said, options.through === "launcher" ? "SIGTERM" : "SIGKILL");
}

/** The service that this process runs, once it listens. */
export async function untilListening(
  child: ChildProcess,
  said = watch(child),
  endWith: "SIGTERM" | "SIGKILL" = "SIGKILL",
) {
  said.ended.finally(printIfTestFails(said.err));
  const listening = () => listeningLine.exec(said.err());
  // A process that a signal has killed has no exit code.
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  try {
    await eventually(() => listening() !== null || hasEnded(), "serve to listen");
  } catch (error) {
    child.kill(endWith);
    throw error;
  }
  const [line, url = "", operatorUrl = ""] = listening() ?? [];
  if (line === undefined) {
    const { err } = await said.ended;
    throw new Error(`serve ended with ${child.exitCode ?? child.signalCode}: ${err}`);
  }
  return {
    child,
    url,
    operatorUrl,
    ...said,
    async [Symbol.asyncDispose]() {
      child.kill(endWith);
      await said.ended;
    },
  };
}

/** What `serve` logs once it listens, with the URLs of its two listeners. */
export const listeningLine =
  /"message":"listening","url\.full":"([^"]+)"(?:,"plant_store\.operator_url":"([^"]+)")?/;

/** Expects that a command or a service wrote a single line to standard error, which names it. */
export function expectOneLine(err: string): void {
  expect(err.trimEnd().split("\n")).toEqual([expect.stringMatching(/^plant-store: /)]);
}

export function start(
  command: string,
  args: readonly string[],
  { environment = {}, folder, writesInput = false, ownGroup = false }: RunOptions,
): ChildProcess {
  return spawn(command, args, {
    env: { ...bareEnvironment, ...environment },
    stdio: [writesInput ? "pipe" : "ignore", "pipe", "pipe"],
    detached: ownGroup,
    ...(folder === undefined ? {} : { cwd: folder }),
  });
}

/** What the process has written so far, and how it ends. */
export function watch(child: ChildProcess) {
  let out = "";
  let err = "";
  child.stdout?.on("data", (text) => {
    out += text;
  });
  child.stderr?.on("data", (text) => {
    err += text;
  });
  const ended = new Promise<Finished>((resolve, reject) =>
    child.on("close", (code) => {
      // Secrets are data, for standard output.
      if (findSecrets(err).length > 0) reject(new Error("A secret was written to standard error."));
      else resolve({ code, out, err });
    }),
  );
  return { out: () => out, err: () => err, ended };
}
