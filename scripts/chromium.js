// The browser that the tests use, and how `npm test` installs one.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const usualPlaces = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
// Another package installation on the machine may take a while.
const lockMsMax = 600_000;
const lockEveryMs = 1000;
const locked = /Could not get lock|Unable to (?:lock|acquire)|locked by another process/;

/** The path of a Chromium: the one that CHROMIUM names, or one in a usual place. `CHROMIUM=none` means none. */
export function findChromium(named = process.env.CHROMIUM, places = usualPlaces) {
  if (named === "none") return undefined;
  return [named, ...places].find((place) => place && existsSync(place));
}

/** Installs Debian's Chromium if there is none. Returns undefined on success, else the reason why there is none. */
export function installChromium({
  named = process.env.CHROMIUM,
  places = usualPlaces,
  isRoot = process.getuid?.() === 0,
  environment = process.env,
  say = console.log,
} = {}) {
  if (findChromium(named, places) !== undefined) return undefined;
  if (named === "none") return "CHROMIUM=none";
  if (process.platform !== "linux" || !isRoot)
    return "none was found, and only root on Debian can install one";
  say("Installing Chromium from Debian's packages for the browser tests; this takes a minute, once.");
  const install = ["install", "-y", "-qq", "--no-install-recommends", "chromium"];
  for (const args of [["update", "-qq"], install]) {
    const problem = aptGet(args, { ...environment, DEBIAN_FRONTEND: "noninteractive" }, say);
    if (problem !== undefined) return `apt-get ${args[0]} failed: ${problem}`;
  }
  return findChromium(named, places) === undefined
    ? "apt-get installed it, but not in a usual place"
    : undefined;
}

// DPkg::Lock::Timeout does not cover the lock on the package lists, so we wait for all locks.
function aptGet(args, env, say) {
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
