import * as bun from "bun:test";
import { type Browser, chromium } from "playwright-core";
import { findChromium } from "../scripts/chromium.js";

/** Without a browser its tests are skipped and counted; under CI they fail. */
export const browserMissing = findChromium() === undefined && !process.env["CI"];
export const describe = bun.describe.skipIf(browserMissing);
export const test = bun.test.skipIf(browserMissing);

/** A real Chromium. `npm test` installs Debian's as root, or says how to get one. */
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
