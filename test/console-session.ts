import { afterAll, beforeAll } from "bun:test";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { browserMissing, newPage, openBrowser } from "./browser.ts";
import { operatorToken, startTestService, type TestService, temporaryFolder } from "./harness.ts";
import { seedStore } from "./seeded-store.ts";

export interface ConsoleSession {
  readonly running: TestService;
  readonly browser: Browser;
  /** A token with the scopes operator and plants:create. */
  readonly secret: string;
  /** Errors of any page: a violated content policy, a request to another host, or an exception. */
  readonly pageErrors: string[];
  /** Opens a page of the console, signed in by default. */
  open(path: string, options?: OpenOptions): Promise<Page>;
}

export interface OpenOptions extends BrowserContextOptions {
  readonly token?: string | undefined;
}

/** One service with a seeded store and one browser, for all tests of a file. */
export function useConsole(plants: number, flags: Record<string, string> = {}): ConsoleSession {
  const folder = temporaryFolder();
  const session: { running?: TestService; browser?: Browser; secret?: string } = {};
  const pageErrors: string[] = [];
  beforeAll(async () => {
    if (browserMissing) return;
    const file = join(folder.path, "plants.db");
    const untilMs = Date.now() - 60_000;
    await seedStore(file, { plants, fromMs: untilMs - 7_200_000, untilMs });
    session.running = await startTestService(flags, file);
    session.secret = await makeToken(session.running, "ops", ["operator", "plants:create"]);
    session.browser = await openBrowser();
  }, 60_000);
  afterAll(async () => {
    await session.browser?.close();
    await session.running?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  return {
    pageErrors,
    get running() {
      return started(session.running);
    },
    get browser() {
      return started(session.browser);
    },
    get secret() {
      return started(session.secret);
    },
    async open(path, options = {}) {
      const { token = started(session.secret), ...rest } = options;
      const page = await newPage(started(session.browser), {
        viewport: { width: 1280, height: 800 },
        reducedMotion: "reduce",
        ...rest,
      });
      collectErrors(page, started(session.running).operatorUrl, pageErrors);
      if (token !== "") {
        await page.addInitScript(`sessionStorage.setItem("plant-store-token", ${JSON.stringify(token)})`);
      }
      await page.goto(started(session.running).operatorUrl + path);
      return page;
    },
  };
}

/** Opens the menu of a token, and starts one of its actions. */
export async function chooseAction(page: Page, action: "Rotate" | "Revoke", token: string): Promise<void> {
  const button = page.getByRole("button", { name: `${action} ${token}` });
  if ((await button.count()) === 0)
    await page
      .getByRole("button", { name: `Actions for ${token}` })
      .first()
      .click();
  await button.click();
}

export async function makeToken(
  running: TestService,
  name: string,
  scopes: readonly string[],
  rateLimit?: string,
): Promise<string> {
  const response = await fetch(`${running.operatorUrl}/api/tokens`, {
    method: "POST",
    headers: { Authorization: `Bearer ${operatorToken}` },
    body: JSON.stringify({ name, scopes, rateLimit }),
  });
  return ((await response.json()) as { secret: string }).secret;
}

function collectErrors(page: Page, origin: string, pageErrors: string[]): void {
  page.on("pageerror", (error) => pageErrors.push(String(error)));
  page.on("console", (message) => {
    // The browser also logs error responses that the page handles.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
      pageErrors.push(message.text());
    }
  });
  page.on("request", (request) => {
    if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(origin)) {
      pageErrors.push(`request to ${request.url()}`);
    }
  });
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error("used before it was started");
  return part;
}
