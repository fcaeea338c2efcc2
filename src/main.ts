import { dlopen, FFIType } from "bun:ffi";
import { fstatSync, readFileSync } from "node:fs";
import { errorReport, runCommand } from "./cli/run.ts";
import { StandardOutput } from "./cli/standard-output.ts";
import { interruptedCode, type Process } from "./cli/terminal.ts";

// The C library of glibc, musl, macOS and Windows.
const libraries = ["libc.so.6", "libc.so", "libSystem.B.dylib", "ucrtbase.dll"];
// RLIMIT_CORE, which is the same number on Linux and macOS.
const rlimitCore = 4;
// A signal to the whole process group arrives up to three times: directly, from the launcher, and through npm, which a busy
// machine may delay. That is one request to stop.
const sameSignalMs = 1000;
const columnsDefault = 80;

// First of all: from now on, a crash writes no core file.
disableCoreFiles();

// The streams that a command prints to.
const { stdout, stderr, env } = process;
const output = new StandardOutput(stdout);
// A log that cannot be written, on a full disk for example, must not change what the command does or its exit code.
stderr.on("error", () => {});
// A dumb terminal prints control sequences as text.
const isDumb = env["TERM"] === "dumb";
const outIsTerminal = stdout.isTTY === true;
const errIsTerminal = stderr.isTTY === true;

// The process, as commands see it.
const terminal: Process = {
  environment: env,
  readFile: (path) => readFileSync(path, "utf8"),
  input: () => process.stdin,
  out: (data) => output.write(data),
  outFlushed: () => output.flush(),
  err: (text) => void stderr.write(text),
  errHasColour: errIsTerminal && !isDumb && !env["NO_COLOR"],
  outIsTerminal,
  errIsTerminal,
  errCanRedraw: errIsTerminal && !isDumb,
  errIsJournal: isJournal(2, env["JOURNAL_STREAM"]),
  get outColumns() {
    return stdout.columns || columnsDefault;
  },
  get errColumns() {
    return stderr.columns || columnsDefault;
  },
  waitForStopSignal,
  async exitWithoutClosing(code) {
    await new Promise((resolve) => stderr.write("", resolve));
    return exitAsCrash(code);
  },
};

// An unexpected exception leaves an unknown state, so nothing is closed on the way out. Bun reports a rejected promise that
// nobody handles by the second event alone.
process.on("uncaughtException", reportAndCrash);
process.on("unhandledRejection", reportAndCrash);

// The command itself.
process.exitCode = await runCommand(process.argv.slice(2), terminal);

function reportAndCrash(error: unknown): void {
  stderr.write(errorReport(error, "", terminal).text, () => exitAsCrash(1));
}

/**
 * Ends the process as a crash would, with the system's _exit: whatever is open stays as it is, for recovery at the
 * next start. Bun's exit closes every database: that syncs, checkpoints and deletes the WAL, which after a failed
 * sync is the only sound copy.
 */
function exitAsCrash(code: number): never {
  callLibc("_exit", [FFIType.i32], code);
  process.kill(process.pid, "SIGKILL");
  throw new Error("the process is being killed");
}

/**
 * Whether journald reads what is written to that descriptor. systemd sets JOURNAL_STREAM to the device and the inode of its
 * stream; a shell hands the variable on to commands whose output goes elsewhere: systemd.exec(5).
 */
function isJournal(descriptor: number, journalStream: string | undefined): boolean {
  if (journalStream === undefined) return false;
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return journalStream === `${dev}:${ino}`;
  } catch {
    // The descriptor is closed.
    return false;
  }
}

/**
 * The first signal starts a clean stop; a second one ends the process immediately. Without its launcher, which passes signals on,
 * the process stops too; a process started without it has no channel.
 */
function waitForStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let askedMs: number | undefined;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        askedMs ??= performance.now();
        resolve(signal);
        if (performance.now() - askedMs > sameSignalMs) exitAsCrash(interruptedCode(signal));
      });
    }
    process.on("disconnect", () => resolve("the launcher has ended"));
    process.channel?.unref();
  });
}

/** A core file would contain every token and plant in memory. Whatever the shell's limit, a crash of this process writes none. */
function disableCoreFiles(): void {
  // struct rlimit: the soft and the hard limit. Windows has none, and writes no core files.
  callLibc("setrlimit", [FFIType.i32, FFIType.ptr], rlimitCore, new BigUint64Array(2));
}

/** Calls a function of the system's C library, if it has one of that name. */
function callLibc(name: string, types: readonly FFIType[], ...values: readonly unknown[]): void {
  for (const library of libraries) {
    try {
      const { symbols } = dlopen(library, { [name]: { args: types, returns: FFIType.i32 } });
      symbols[name]?.(...(values as never[]));
      return;
    } catch {
      // This library is another platform's.
    }
  }
}
