import * as bun from "bun:test";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { AxeResults } from "axe-core";
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Download,
  type Locator,
  type Page,
} from "playwright-core";
import { findChromium } from "../../scripts/browsers.js";
import { waitMsMax } from "./eventually.ts";
import { lacks } from "./lacks.ts";
import { sharedServerAddress } from "./shared-server-address.ts";

/** Without a browser its tests are skipped and counted; under CI they fail. */
export const browserMissing = lacks("a browser", findChromium() === undefined && !process.env["CI"]);
export const describe = bun.describe.skipIf(browserMissing);

export const test = browserMissing ? bun.test.skip : bun.test;

export async function newPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(waitMsMax);
  return context.newPage();
}

/** A connection to the Chromium of the whole run, or without one a Chromium of its own. Closing it closes its contexts. */
export async function openBrowser(): Promise<Browser> {
  const address = await sharedServerAddress("chromium");
  return address === undefined ? chromium.launch(chromiumOptions()) : chromium.connect(address);
}

/** A real Chromium. `npm test` installs Debian's as root, or says how to get one. */
export function chromiumOptions() {
  const executablePath = findChromium();
  if (executablePath === undefined)
    throw new Error("There is no Chromium; install it, or name one in the variable CHROMIUM.");
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    // Optimised code takes longer to compile than it saves: few pages are open for a second.
    "--js-flags=--no-opt --no-maglev",
  ];
  return { executablePath, args };
}

/** What the browser downloaded. It may run elsewhere, so its file has no path here. */
export async function contentOf(download: Download): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(await download.createReadStream()));
}

/**
 * What the page copies when this button is clicked, once it is on the clipboard. Every page of a run shares that clipboard, so
 * the text is taken where the page writes it.
 */
export async function copiedBy(button: Locator): Promise<string> {
  await button.page().evaluate(`{
    const copied = Promise.withResolvers();
    navigator.clipboard.writeText = async (text) => {
      await Clipboard.prototype.writeText.call(navigator.clipboard, text);
      copied.resolve(text);
    };
    window.copied = copied.promise;
    // What this evaluates to is awaited, and nothing is copied yet.
    undefined;
  }`);
  await button.click();
  return button.page().evaluate<string>("window.copied");
}

/** How the field with that label treats its secret. A browser offers to save what is in a field of type password. */
export async function secretField(page: Page, label: string): Promise<unknown> {
  await page.getByLabel(label).focus();
  return page.evaluate(`({
    type: document.activeElement.type,
    autocomplete: document.activeElement.autocomplete,
    shown: getComputedStyle(document.activeElement).getPropertyValue("-webkit-text-security"),
  })`);
}

/** What axe-core finds wrong with that element of the page. */
export async function axeViolations(page: Page, selector = "html", options = {}): Promise<unknown[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axeScript());
  // Without what it found to be right, which takes most of the time.
  const asked = JSON.stringify({ resultTypes: ["violations"], ...options });
  const run = `axe.run("${selector}", ${asked}).then(({ violations }) => violations)`;
  const violations = await page.evaluate<AxeResults["violations"]>(run);
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}

/** What a page runs. Importing axe-core instead would take a tenth of a second of CPU time in each file that uses a browser. */
function axeScript(): string {
  return readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
}

/** A script for a browser that refuses to keep anything there, as Chromium does where all cookies are blocked. */
export function noStorage(area: "localStorage" | "sessionStorage"): string {
  return `Object.defineProperty(window, "${area}", {
    get() { throw new DOMException("Access is denied for this document.", "SecurityError"); },
  })`;
}
