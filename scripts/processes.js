// How scripts, and the tests of what they build, run a program and end. Node runs this before anything is installed.
import { spawnSync } from "node:child_process";

/** Runs a program to its end, and returns its standard output. Throws if it fails, with all that it printed. */
export function outputOf(program, args, folder = ".") {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: folder, encoding: "utf8" });
  if (status !== 0)
    throw new Error(`${program} ${args.join(" ")} failed: ${error?.message ?? stdout + stderr}`);
  return stdout;
}

/** Settles once the process has ended, with its exit code and what it printed on both streams. */
export function finished(child) {
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    // Decodes a character whose bytes arrive in two chunks.
    stream.setEncoding("utf8");
    stream.on("data", (text) => {
      output += text;
    });
  }
  return new Promise((resolve) => child.on("close", (code) => resolve({ code: code ?? 1, output })));
}

/** Ends the script. */
export function fail(message, code = 1) {
  console.error(message);
  process.exit(code);
}
