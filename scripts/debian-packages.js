// Installs what tests need from Debian's packages, if possible.
import { spawnSync } from "node:child_process";

// Another package installation on the machine may take a while.
const lockMsMax = 600_000;
const locked = /Could not get lock|Unable to (?:lock|acquire)|locked by another process/;

/** Installs the packages. Returns undefined on success, else the reason why they are not installed. */
export function installPackages(
  packages,
  {
    isRoot = process.getuid?.() === 0,
    environment = process.env,
    say = console.log,
    lockEveryMs = 1000,
  } = {},
) {
  if (process.platform !== "linux" || !isRoot)
    return "none was found, and only root on Debian can install one";
  say(
    `Installing ${packages.join(", ")} from Debian's packages for the browser tests; this takes a minute, once.`,
  );
  const install = ["install", "-y", "-qq", "--no-install-recommends", ...packages];
  for (const args of [["update", "-qq"], install]) {
    const problem = aptGet(args, { ...environment, DEBIAN_FRONTEND: "noninteractive" }, { say, lockEveryMs });
    if (problem !== undefined) return `apt-get ${args[0]} failed: ${problem}`;
  }
  return undefined;
}

// DPkg::Lock::Timeout does not cover the lock on the package lists, so we wait for all locks.
function aptGet(args, env, { say, lockEveryMs }) {
  const untilMs = performance.now() + lockMsMax;
  for (let waiting = false; ; waiting = true) {
    const { status, stderr, error } = spawnSync("apt-get", args, { env, encoding: "utf8" });
    if (status === 0) return undefined;
    if (!locked.test(stderr ?? "") || performance.now() > untilMs)
      return (error?.message ?? stderr.trim().split("\n").at(-1)) || `exit code ${status}`;
    if (!waiting) say("Another process holds the package lock; waiting for it.");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lockEveryMs);
  }
}
