import { afterAll, beforeAll } from "bun:test";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { browserMissing, openBrowser } from "./browser.ts";
import { operatorToken, startTestService, type TestService, temporaryFolder } from "./harness.ts";
import { seedStore } from "./seeded-store.ts";

export interface ConsoleSession {
  readonly running: TestService;
  readonly browser: Browser;
  /** A token that may look and add. */
  readonly secret: string;
  /** What no page may ever do: break its own policy, ask another host, or throw. */
  readonly complaints: string[];
  /** A page of the console, signed in unless told otherwise. */
  open(path: string, options?: OpenOptions): Promise<Page>;
}

export interface OpenOptions extends BrowserContextOptions {
  readonly token?: string | undefined;
}

/** One service over a seeded store and one browser, for all tests of a file. */
export function useConsole(plants: number): ConsoleSession {
  const folder = temporaryFolder();
  const session: { running?: TestService; browser?: Browser; secret?: string } = {};
  const complaints: string[] = [];
  beforeAll(async () => {
    if (browserMissing) return;
    const file = join(folder.path, "plants.db");
    const untilMs = Date.now() - 60_000;
    await seedStore(file, { plants, fromMs: untilMs - 7_200_000, untilMs });
    session.running = await startTestService({}, file);
    session.secret = await makeToken(session.running, "ops", ["operator", "plants:create"]);
    session.browser = await openBrowser();
  }, 60_000);
  afterAll(async () => {
    await session.browser?.close();
    await session.running?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  return {
    complaints,
    get running() {
      return made(session.running);
    },
    get browser() {
      return made(session.browser);
    },
    get secret() {
      return made(session.secret);
    },
    async open(path, options = {}) {
      const { token = made(session.secret), ...rest } = options;
      const context = await made(session.browser).newContext({
        viewport: { width: 1280, height: 800 },
        reducedMotion: "reduce",
        ...rest,
      });
      const page = await context.newPage();
      listen(page, made(session.running).operatorUrl, complaints);
      if (token !== "") {
        await page.addInitScript(`sessionStorage.setItem("plant-store-token", ${JSON.stringify(token)})`);
      }
      await page.goto(made(session.running).operatorUrl + path);
      return page;
    },
  };
}

export async function makeToken(
  running: TestService,
  name: string,
  scopes: readonly string[],
): Promise<string> {
  const response = await fetch(`${running.operatorUrl}/api/tokens`, {
    method: "POST",
    headers: { Authorization: `Bearer ${operatorToken}` },
    body: JSON.stringify({ name, scopes }),
  });
  return ((await response.json()) as { secret: string }).secret;
}

function listen(page: Page, origin: string, complaints: string[]): void {
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // A refusal that the page asked for and shows is logged by the browser as well.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
      complaints.push(message.text());
    }
  });
  page.on("request", (request) => {
    if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(origin)) {
      complaints.push(`asked ${request.url()}`);
    }
  });
}

function made<T>(part: T | undefined): T {
  if (part === undefined) throw new Error("used before it was made");
  return part;
}
