// How the docs page looks to axe-core: each run of it takes a second of CPU time.
import { afterAll, beforeAll, expect } from "bun:test";
import type { Browser } from "playwright-core";
import { axeViolations, browserMissing, describe, newPage, openBrowser, test } from "../support/browser.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

let service: TestService;
let chromium: Browser;
beforeAll(async () => {
  if (browserMissing) return;
  service = await startTestService();
  chromium = await openBrowser();
});
afterAll(async () => {
  await chromium?.close();
  await service?.[Symbol.asyncDispose]();
});

describe("axe-core finds no violations in the docs page", () => {
  // A wider window has the same layout as one of 1280 px.
  test.each([
    [360, "light"],
    [768, "light"],
    [1280, "dark"],
  ] as const)("in %d px and the %s theme", async (width, theme) => {
    const page = await newPage(chromium, { viewport: { width, height: 900 }, colorScheme: theme });
    await page.goto(`${service.url}/docs`);
    expect(await axeViolations(page)).toEqual([]);
    await page.context().close();
  });
});
