// The browser that the tests use, and how `npm test` installs one.
import { existsSync } from "node:fs";
import { installPackages } from "./debian-packages.js";

const usualPlaces = [
  // Without a window it takes a third of the CPU time.
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** The path of a Chromium: the one that CHROMIUM names, or one in a usual place. `CHROMIUM=none` means none. */
export function findChromium(named = process.env.CHROMIUM, places = usualPlaces) {
  if (named === "none") return undefined;
  return [named, ...places].find((place) => place && existsSync(place));
}

/** Installs Debian's Chromium if there is none. Returns undefined on success, else the reason why there is none. */
export function installChromium({ named = process.env.CHROMIUM, places = usualPlaces, ...options } = {}) {
  if (findChromium(named, places) !== undefined) return undefined;
  if (named === "none") return "CHROMIUM=none";
  const problem = installPackages(["chromium-headless-shell"], options);
  if (problem !== undefined) return problem;
  return findChromium(named, places) === undefined
    ? "apt-get installed it, but not in a usual place"
    : undefined;
}
