// Runs tests under the Bun that npm installed: npm run test:one -- FILE…, npm run test:quick, npm run test:watch.
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bunFlags, bunMissing, findBun } from "../bin/find-bun.js";

// Far above what any test takes: only a test that hangs should fail, not one on a busy machine.
const testMsMax = 120_000;
// Most tests wait for a timer, a disk or another process, so more files than cores run at a time.
const filesAtOnce = 5;
// If more files than this fail, it is not by chance.
const retriedFilesMax = 3;
// How long each file took when this was last written, by `npm test -- --update-timings`: the longest start first.
const timings = fileURLToPath(new URL("../test/timings.json", import.meta.url));

/**
 * Runs the tests in those files or folders, and settles with the exit code. Under CI the plain line `N passed, N failed` at the
 * end is what is read. With `retryAlone`, a few files that fail run once more, one after another: in parallel with others on a
 * busy machine, a test may fail that passes alone. Which ones did is printed.
 */
export async function runTests(paths, { flags = [], environment = {}, retryAlone = false } = {}) {
  const first = await runOnce(paths, flags, environment);
  const retried = first.failedFiles;
  const maySucceed =
    retryAlone && first.code !== 0 && retried.length > 0 && retried.length <= retriedFilesMax;
  const second = maySucceed
    ? await runOnce(
        retried.map((file) => `./${file}`),
        ["--only-failures"],
        environment,
      )
    : undefined;
  const failed = second?.failed ?? first.failed;
  const skipped = first.skipped > 0 ? `, ${first.skipped} skipped` : "";
  if (second?.code === 0) console.log(`Failed in parallel and passed alone: ${retried.join(", ")}`);
  console.log(`${first.passed + first.failed - failed} passed, ${failed} failed${skipped}`);
  return (second ?? first).code;
}

/** Bun adds the files of a run to the recorded times, and leaves those that no longer exist. */
export function removeStaleTimings() {
  const recorded = JSON.parse(readFileSync(timings, "utf8"));
  const files = Object.entries(recorded.files).filter(([file]) => existsSync(file));
  const longestFirst = files.sort(([, one], [, other]) => other - one);
  const text = JSON.stringify({ ...recorded, files: Object.fromEntries(longestFirst) }, null, 2);
  writeFileSync(timings, `${text}\n`);
}

async function runOnce(paths, flags, environment) {
  const bun = findBun();
  if (bun === undefined) throw new Error(bunMissing);
  // The temporary directory of the run: whatever a test leaves there goes with it. Like the system's own, it is open to every
  // user, since PostgreSQL runs as another. Its name is short: the path of a socket has little more than 100 bytes.
  const folder = mkdtempSync(join(tmpdir(), "ps-"));
  chmodSync(folder, 0o1777);
  const args = [...bunFlags, "test", "--timeout", String(testMsMax), ...flags, ...paths];
  const tests = spawn(bun, args, {
    stdio: ["ignore", "inherit", "pipe"],
    env: { ...process.env, TMPDIR: folder, PLANT_STORE_TEST_FOLDER: folder, ...environment },
  });
  // So that the folder is removed after Ctrl-C too, which is how a watch ends.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => tests.kill(signal));
  let output = "";
  tests.stderr.on("data", (text) => {
    output += text;
    process.stderr.write(text);
  });
  const code = await new Promise((resolve) => tests.on("close", resolve));
  rmSync(folder, { recursive: true, force: true });
  const count = (word) => Number(new RegExp(`^\\s*(\\d+) ${word}$`, "m").exec(output)?.[1] ?? 0);
  const counts = { passed: count("pass"), failed: count("fail"), skipped: count("skip") };
  return { code: code ?? 1, failedFiles: filesThatFailed(output), ...counts };
}

/** Each failure is printed after the name of its file. */
function filesThatFailed(output) {
  const failed = new Set();
  let file;
  for (const line of output.split("\n")) {
    file = /^(\S+\.test\.tsx?):$/.exec(line)?.[1] ?? file;
    if (line.startsWith("(fail)") && file !== undefined) failed.add(file);
  }
  return [...failed];
}

export const inParallel = [`--parallel=${filesAtOnce}`, `--timings=${timings}`, "--only-failures"];
