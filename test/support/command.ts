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
// For this long after a signal, another one counts as the same: see src/main.ts, which cannot be imported.
const sameSignalMs = 1000;

export interface Finished {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A process of a test, which owns it by `await using`: whatever of it still runs then is killed. */
export interface Running extends AsyncDisposable {
  readonly child: ChildProcess;
  /** What it has written to standard output so far. */
  out(): string;
  /** What it has written to standard error so far. */
  err(): string;
  readonly ended: Promise<Finished>;
}

export interface RunOptions {
  readonly environment?: Record<string, string>;
  readonly folder?: string;
  /** Whether the test writes to its standard input, which is empty otherwise. */
  readonly writesInput?: boolean;
  /** Whether it leads its own process group, like a command typed into a shell. The group is killed with it. */
  readonly ownGroup?: boolean;
  /** By default Bun runs main.ts, as the launcher would: starting Node as well would double the time. */
  readonly through?: "launcher";
}

/** Only what a process needs to run: the developer's own variables must not influence a test. */
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
export function startPlantStore(args: readonly string[], options: RunOptions = {}): Running {
  return start(...commandLine(args, options), options);
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

/** The arguments of `unshare` for such a script, which may mount what only it and its children see. */
export function unshareArguments(script: string, args: readonly string[]): readonly string[] {
  return ["-rm", "sh", ...shellArguments(script, args)];
}

/** Starts a plant-store command on a terminal of its own. */
export function startOnTerminal(args: readonly string[]) {
  const [command, rest] = commandLine(args);
  const decoder = new TextDecoder();
  let out = "";
  const child = Bun.spawn([command, ...rest], {
    env: bareEnvironment,
    terminal: {
      cols: 200,
      rows: 24,
      data(_, bytes) {
        out += decoder.decode(bytes, { stream: true });
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
  return untilListening(startPlantStore(["serve", "--listen", "127.0.0.1:0", ...args], options));
}

/** The service that this process runs, once it listens. */
export async function untilListening(running: Running) {
  const { child, err, ended } = running;
  ended.finally(printIfTestFails(err));
  const listening = () => listeningLine.exec(err());
  // A process that a signal has killed has no exit code.
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  try {
    await eventually(() => listening() !== null || hasEnded(), "serve to listen");
  } catch (error) {
    await running[Symbol.asyncDispose]();
    throw error;
  }
  const [line, url = "", operatorUrl = ""] = listening() ?? [];
  if (line === undefined) {
    await ended;
    throw new Error(`serve ended with ${child.exitCode ?? child.signalCode}: ${err()}`);
  }
  return { ...running, url, operatorUrl };
}

/** Sends a signal to a service that has received one already, once it can no longer count as the same signal. */
export async function sendSecondSignal(
  { child, err }: Pick<Serving, "child" | "err">,
  signal: NodeJS.Signals,
): Promise<void> {
  await eventually(() => err().includes("stopping: finishing requests"), "the first signal to arrive");
  const sinceMs = performance.now();
  await eventually(() => performance.now() - sinceMs > sameSignalMs, "the end of the first signal's second");
  child.kill(signal);
}

/** What `serve` logs once it listens, with the URLs of its two listeners. */
export const listeningLine =
  /"message":"listening","url\.full":"([^"]+)"(?:,"plant_store\.operator_url":"([^"]+)")?/;

/** Expects that a command or a service wrote a single line to standard error, which names it. */
export function expectOneLine(err: string): void {
  expect(err.trimEnd().split("\n")).toEqual([expect.stringMatching(/^plant-store: /)]);
}

/** Starts a program. */
export function start(
  command: string,
  args: readonly string[],
  { environment = {}, folder, writesInput = false, ownGroup = false, through }: RunOptions = {},
): Running {
  const child = spawn(command, args, {
    env: { ...bareEnvironment, ...environment },
    stdio: [writesInput ? "pipe" : "ignore", "pipe", "pipe"],
    detached: ownGroup,
    ...(folder === undefined ? {} : { cwd: folder }),
  });
  if (ownGroup) return ownProcess(child, () => killGroup(child));
  // The launcher cannot forward SIGKILL.
  return ownProcess(child, () => child.kill(through === "launcher" ? "SIGTERM" : "SIGKILL"));
}

/** A process that a test has spawned itself, since `start` lacks an option that it needs. */
export function ownProcess(child: ChildProcess, kill: () => unknown = () => child.kill("SIGKILL")): Running {
  let out = "";
  let err = "";
  // Decodes a character whose bytes arrive in two chunks.
  child.stdout?.setEncoding("utf8");
  child.stderr?.setEncoding("utf8");
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
  return {
    child,
    out: () => out,
    err: () => err,
    ended,
    async [Symbol.asyncDispose]() {
      kill();
      await ended;
    },
  };
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All of them have ended.
  }
}
