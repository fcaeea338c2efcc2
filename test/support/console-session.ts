import { afterAll, beforeAll, expect } from "bun:test";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { hourMs, minuteMs } from "../../src/text/duration.ts";
import { browserMissing, newPage, openBrowser } from "./browser.ts";
import { eventually } from "./eventually.ts";
import { mintToken } from "./operator-requests.ts";
import { seedStore } from "./seeded-store.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { startTestService, type TestService } from "./test-service.ts";

const askEveryMs = 100;
const viewport = { width: 1280, height: 600 };
const usual: BrowserContextOptions = {
  viewport,
  reducedMotion: "reduce",
  timezoneId: "Europe/Berlin",
  permissions: ["clipboard-read", "clipboard-write"],
};

/** One service with a seeded store and one browser, for all tests of a file. */
export function useConsole(plants: number, flags: Record<string, string> = {}) {
  const owned = new AsyncDisposableStack();
  const folder = owned.use(temporaryFolder());
  const pageErrors: string[] = [];
  let browser: Browser;
  let shared: Page | undefined;
  const session = {
    service: {} as TestService,
    /** A token with the scopes operator and plants:create. */
    secret: "",
  };
  beforeAll(async () => {
    if (browserMissing) return;
    const file = join(folder.path, "plants.db");
    const untilMs = Date.now() - minuteMs;
    seedStore(file, { plants, fromMs: untilMs - 2 * hourMs, untilMs });
    session.service = owned.use(await startTestService({ ...flags, database: file }));
    const { secret } = await mintToken(session.service, {
      name: "ops",
      scopes: ["operator", "plants:create"],
    });
    session.secret = secret;
    browser = owned.use(await openBrowser());
  }, 60_000);
  afterAll(async () => {
    await owned.disposeAsync();
    expect(pageErrors).toEqual([]);
  });
  /** Opens the console, signed in by default, in the one page of the file: another takes three times the CPU time. */
  async function open(
    path: string,
    {
      /** Empty to sign in by hand. */
      token = session.secret,
      /** In a page and a context of its own, such as for another clock. */
      alone = false,
      /** Whether the test makes the page crash. The errors of any other page fail the file. */
      crashes = false,
      /** The address of the console, if it is not that of the file's own service. */
      origin = session.service.operatorUrl,
    } = {},
  ): Promise<Page> {
    const isShared = !alone && !crashes;
    let page = isShared ? shared : undefined;
    if (page === undefined) {
      page = await newPage(browser, usual);
      if (!crashes) collectErrors(page, pageErrors);
      if (isShared) shared = page;
    }
    // The test before may have ended while the page was still asking for something that it answers.
    await page.unrouteAll({ behavior: "ignoreErrors" });
    // A table waits while someone points at it, and the test before may have left the pointer there.
    await page.mouse.move(0, 0);
    if (page.viewportSize()?.width !== viewport.width) await page.setViewportSize(viewport);
    if (new URL(page.url()).origin !== origin) await page.goto(`${origin}/livez`);
    const store =
      token === "" ? "" : `; sessionStorage.setItem("plant-store-token", ${JSON.stringify(token)})`;
    await page.evaluate(`localStorage.clear(); sessionStorage.clear()${store}`);
    await page.goto(origin + path);
    return page;
  }
  return Object.assign(session, { open });
}

/** As `eventually`, but asks less often: each question takes milliseconds of the browser's CPU time. */
export function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  return eventually(condition, condition.toString(), askEveryMs);
}

/** Waits until the page shows that text. */
export const waitForText = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

/** Waits until the page shows that heading, its own or that of a part. */
export const waitForHeading = (page: Page, name: string) =>
  page.getByRole("heading", { name, exact: true }).waitFor();

/** The text of the one element that the selector matches. */
export const textIn = async (page: Page, selector: string) =>
  (await page.locator(selector).textContent()) ?? "";

export async function signIn(page: Page, secret: string): Promise<void> {
  await page.getByLabel("Token").fill(secret);
  await page.keyboard.press("Enter");
}

/** A violated content policy, a request to another host, or an exception. */
export function collectErrors(page: Page, pageErrors: string[]): void {
  page.on("pageerror", (error) => pageErrors.push(String(error)));
  page.on("console", (message) => {
    // The browser also logs error responses that the page handles.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
      pageErrors.push(message.text());
    }
  });
  page.on("request", (request) => {
    if (!/^(?:data:|blob:|http:\/\/127\.0\.0\.1:)/.test(request.url())) {
      pageErrors.push(`request to ${request.url()}`);
    }
  });
}
