import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const usualPlaces = [
  process.env["CHROMIUM"],
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

export function findChromium(): string | undefined {
  return usualPlaces.find((place) => place !== undefined && existsSync(place));
}

/** A real Chromium. `npm test` installs Debian's where it may; elsewhere it says how. */
export function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined)
    throw new Error("There is no Chromium; install it, or name one in the variable CHROMIUM.");
  const quiet = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ];
  return chromium.launch({ executablePath, args: quiet });
}
