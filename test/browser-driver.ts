import { type ChildProcess, spawn } from "node:child_process";
import { eventually } from "./harness.ts";

/** What Firefox and WebKit can both be asked for. `DrivenPage` makes clicks and typing of it. */
export interface BrowserDriver extends AsyncDisposable {
  open(url: string): Promise<void>;
  /** The value of a JavaScript expression, which must be JSON. */
  evaluate<T>(expression: string): Promise<T>;
  /** Real input events: `actions` as WebDriver defines them, for BiDi and classic alike. */
  perform(actions: readonly object[]): Promise<void>;
  /** Chooses the file in the input that the selector names. */
  chooseFile(selector: string, path: string): Promise<void>;
  resize(widthPx: number, heightPx: number): Promise<void>;
  /** Errors that the browser itself reported since the last call. */
  takeErrors(): string[];
}

export interface Program extends AsyncDisposable {
  /** Waits until its output matches, and returns the first group. */
  said(pattern: RegExp): Promise<string>;
  readonly isRunning: boolean;
}

/** Starts a program in a process group of its own, which ends with it. It also ends if the tests are killed. */
export function startProgram(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Program {
  const child: ChildProcess = spawn("setpriv", ["--pdeathsig", "KILL", command, ...args], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (text) => {
      output += text;
    });
  let running = true;
  const ended = new Promise<void>((resolve) => {
    child.on("close", resolve);
    child.on("error", (error) => {
      output += error.message;
      resolve();
    });
  }).then(() => {
    running = false;
  });
  return {
    get isRunning() {
      return running;
    },
    async said(pattern) {
      await eventually(() => pattern.test(output) || !running, `${command} to print ${pattern}`);
      const match = pattern.exec(output);
      if (match === null) throw new Error(`${command} ended: ${output}`);
      return match[1] ?? "";
    },
    async [Symbol.asyncDispose]() {
      if (running && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      await ended;
    },
  };
}
