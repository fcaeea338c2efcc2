// The browsers that the tests use, and how `npm test` and `npm run test:slow` install them from Debian's packages.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const usualPlaces = [
  // Without a window it takes a third of the CPU time.
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
export const firefox = "/usr/bin/firefox-esr";
// Another package installation on the machine may take a while.
const lockMsMax = 600_000;
const lockEveryMs = 1000;
const locked = /Could not get lock|Unable to (?:lock|acquire)|locked by another process/;

/** The path of a Chromium: the one that CHROMIUM names, or one in a usual place. `CHROMIUM=none` means none. */
export function findChromium() {
  const named = process.env.CHROMIUM;
  if (named === "none") return undefined;
  return [named, ...usualPlaces].find((place) => place && existsSync(place));
}

/** Installs Debian's Chromium if there is none. Returns undefined on success, else the reason why there is none. */
export function installChromium() {
  if (findChromium() !== undefined) return undefined;
  if (process.env.CHROMIUM === "none") return "CHROMIUM=none";
  const problem = installPackage("chromium-headless-shell");
  if (problem !== undefined) return problem;
  return findChromium() === undefined ? "apt-get installed it, but not in a usual place" : undefined;
}

/** Installs Debian's Firefox if there is none, or says in a sentence why it cannot. */
export function installFirefox() {
  const problem = existsSync(firefox) ? undefined : installPackage("firefox-esr");
  if (problem !== undefined) console.log(`Firefox is skipped (${problem}); install Debian's firefox-esr.`);
}

/** Returns undefined on success, else the reason why it is not installed. */
function installPackage(name) {
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return "none was found, and only root on Debian can install one";
  console.log(`Installing ${name} from Debian's packages for the browser tests; this takes a minute, once.`);
  const install = ["install", "-y", "-qq", "--no-install-recommends", name];
  for (const args of [["update", "-qq"], install]) {
    const problem = aptGet(args);
    if (problem !== undefined) return `apt-get ${args[0]} failed: ${problem}`;
  }
  return undefined;
}

/** DPkg::Lock::Timeout does not cover the lock on the package lists, so we wait for all locks. */
function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const untilMs = performance.now() + lockMsMax;
  for (let waiting = false; ; waiting = true) {
    const { status, stderr, error } = spawnSync("apt-get", args, { env, encoding: "utf8" });
    if (status === 0) return undefined;
    if (!locked.test(stderr ?? "") || performance.now() > untilMs)
      return (error?.message ?? stderr.trim().split("\n").at(-1)) || `exit code ${status}`;
    if (!waiting) console.log("Another process holds the package lock; waiting for it.");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lockEveryMs);
  }
}
