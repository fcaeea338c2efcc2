// Runs tests under the Bun that npm installed: npm run test:one -- FILE…, npm run test:quick, npm run test:watch.
import { spawn } from "node:child_process";
import { bunFlags, bunMissing, findBun } from "../bin/find-bun.js";

// Far above what any test takes: a busy machine is slow, and only a test that hangs is at fault.
const testMsMax = 60_000;
// Most tests wait for a timer, a disk or another process, so a few more files than cores are run at once.
const filesAtOnce = 3;

/**
 * Runs the tests in those files or folders, and settles with the exit code. Under CI the plain line `N passed, N failed` at the
 * end is what is read.
 */
export async function runTests(paths, { flags = [], environment = {} } = {}) {
  const bun = findBun();
  if (bun === undefined) throw new Error(bunMissing);
  const args = [...bunFlags, "test", "--timeout", String(testMsMax), ...flags, ...paths];
  const tests = spawn(bun, args, {
    stdio: ["ignore", "inherit", "pipe"],
    env: { ...process.env, ...environment },
  });
  let said = "";
  tests.stderr.on("data", (text) => {
    said += text;
    process.stderr.write(text);
  });
  const code = await new Promise((resolve) => tests.on("close", resolve));
  const count = (word) => Number(new RegExp(`^\\s*(\\d+) ${word}$`, "m").exec(said)?.[1] ?? 0);
  const skipped = count("skip");
  console.log(`${count("pass")} passed, ${count("fail")} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
  return code ?? 1;
}

export const inParallel = [`--parallel=${filesAtOnce}`, "--only-failures"];
