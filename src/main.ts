import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { runCommand } from "./cli/run.ts";
import type { Terminal } from "./cli/terminal.ts";
import { writeNoCoreFile } from "./no-core-file.ts";
import { exitWithoutClosing } from "./storage/sqlite/writing/exit-without-closing.ts";

writeNoCoreFile();

const { stdout, stderr, env } = process;
// A signal to the whole process group arrives up to three times: directly, from the launcher, and through npm, which a busy
// machine may delay. That is one request to stop.
const sameSignalMs = 1000;
const columnsStandard = 80;

// A reader that has seen enough (`plant-store list | head -1`) is not an error.
stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});
// A log that cannot be written, on a full disk for example, must not change what the command does or its exit code.
stderr.on("error", () => {});

const terminal: Terminal = {
  environment: env,
  readFile: (path) => readFileSync(path, "utf8"),
  input: () => process.stdin,
  out: (text) => void stdout.write(text),
  outWithBackpressure: (data) => new Promise((resolve) => stdout.write(data, (error) => resolve(!error))),
  err: (text) => void stderr.write(text),
  note: (text) => void stderr.write(text),
  colourOut: stdout.isTTY === true && !env["NO_COLOR"],
  colourErr: stderr.isTTY === true && !env["NO_COLOR"],
  outIsTerminal: stdout.isTTY === true,
  errIsTerminal: stderr.isTTY === true,
  get errColumns() {
    return stderr.columns || columnsStandard;
  },
  stopSignal,
  async exitWithoutClosing(code) {
    await new Promise((resolve) => stderr.write("", resolve));
    return end(code);
  },
};

// An unexpected exception leaves an unknown state, so nothing is closed on the way out.
process.on("uncaughtException", (error) => {
  stderr.write(
    `plant-store: internal error, please report it: ${error instanceof Error ? error.stack : error}\n`,
    () => end(1),
  );
});

process.exitCode = await runCommand(process.argv.slice(2), terminal);

/** As a crash would: whatever is open stays as it is, for recovery at the next start. */
function end(code: number): never {
  exitWithoutClosing(code);
  process.kill(process.pid, "SIGKILL");
  throw new Error("the process is being killed");
}

/** The first signal starts a clean stop; a second one ends the process immediately. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let askedMs: number | undefined;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        askedMs ??= performance.now();
        resolve(signal);
        if (performance.now() - askedMs > sameSignalMs) end(128 + constants.signals[signal]);
      });
    }
  });
}
