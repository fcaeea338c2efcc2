import * as bun from "bun:test";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { findChromium } from "../scripts/chromium.js";
import { serviceLogs } from "./harness.ts";

/** Without a browser its tests are skipped and counted; under CI they fail. */
export const browserMissing = findChromium() === undefined && !process.env["CI"];
export const describe = bun.describe.skipIf(browserMissing);

// Less than the timeout of any test, so that a wait fails with its own error.
const waitMsMax = 60_000;
const testMsMax = 120_000;

/** A test in the browser. When it fails, it also prints what the services logged. */
export function test(name: string, run: () => Promise<void>, timeoutMs = testMsMax): void {
  const runAndReport = async (): Promise<void> => {
    try {
      await run();
    } catch (error) {
      throw new Error(`The services said:\n${serviceLogs()}`, { cause: error });
    }
  };
  bun.test.skipIf(browserMissing)(name, runAndReport, timeoutMs);
}

export async function newPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(waitMsMax);
  return context.newPage();
}

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

/** How the field with that label treats its secret. A browser offers to save what is in a field of type password. */
export async function secretField(page: Page, label: string) {
  const field = page.getByLabel(label);
  return {
    type: await field.getAttribute("type"),
    autocomplete: await field.getAttribute("autocomplete"),
    shown: await page.evaluate(
      `getComputedStyle(document.getElementById("${await field.getAttribute("id")}")).getPropertyValue("-webkit-text-security")`,
    ),
  };
}
