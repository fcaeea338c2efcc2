// What surrounds the pages of the console, in a browser: theme, navigation, an outage, unknown paths.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { describe, noStorage, test } from "../support/browser.ts";
import { useConsole, waitForHeading, waitForText, waitUntil } from "../support/console-session.ts";
import { statusOf } from "../support/post-plants.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const session = useConsole(10);
const { open } = session;

describe("the theme", () => {
  const background = (page: Page) => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
  const light = "rgb(251, 251, 250)";
  const dark = "rgb(14, 17, 16)";

  async function chooseDark(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Theme: system" }).click();
    await page.getByRole("button", { name: "Theme: light" }).click();
    await page.getByRole("button", { name: "Theme: dark" }).waitFor();
  }

  test("is the system's until another is chosen", async () => {
    const page = await open("/import", { alone: true });
    await page.emulateMedia({ colorScheme: "light" });
    expect(await background(page)).toBe(light);
    await chooseDark(page);
    expect(await background(page)).toBe(dark);
    // Without the page's script, what is left is what the file in <head> has done.
    await page.route("**/assets/main-*.js", (route) => route.abort());
    await page.reload();
    await waitForText(page, "Loading the console.");
    expect(await background(page)).toBe(dark);
    await page.unrouteAll();
    await page.reload();
    await page.getByRole("button", { name: "Theme: dark" }).click();
    await page.getByRole("button", { name: "Theme: system" }).waitFor();
    expect(await background(page)).toBe(light);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await background(page)).toBe(dark);
    await page.context().close();
  });

  test("can be chosen until the next load in a browser that keeps nothing", async () => {
    const page = await open("/import", { alone: true });
    await page.emulateMedia({ colorScheme: "light" });
    await page.addInitScript(noStorage("localStorage"));
    await page.reload();
    await chooseDark(page);
    expect(await background(page)).toBe(dark);
    await page.context().close();
  });

  test("is all that the browser keeps when the tab is closed", async () => {
    const page = await open("/import");
    await page.getByRole("button", { name: "Theme: system" }).click();
    await page.getByRole("button", { name: "Theme: light" }).waitFor();
    expect(await page.evaluate("Object.entries(localStorage)")).toEqual([["plant-store-theme", "light"]]);
    expect(await page.evaluate("Object.keys(sessionStorage)")).toEqual(["plant-store-token"]);
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.evaluate("indexedDB.databases()")).toEqual([]);
    expect(await page.evaluate("caches.keys()")).toEqual([]);
  });
});

/** The pages that the navigation marks as current. */
const markedPages = (page: Page) => page.locator("nav [aria-current=page]").allInnerTexts();

// The title of the tab follows what the page shows.
const waitForTitle = (page: Page, title: string) =>
  waitUntil(async () => (await page.title()) === `${title} · Plant Store`);

test("each link of the navigation opens its page, whose heading a screen reader announces", async () => {
  const page = await open("/import");
  await waitForHeading(page, "Import");
  const names = await page.getByRole("navigation", { name: "Pages" }).getByRole("link").allInnerTexts();
  expect(names).toEqual(["Overview", "Plants", "Import", "Tokens", "Refused", "Audit", "System"]);
  for (const name of names) {
    await page.getByRole("navigation").getByRole("link", { name }).click();
    await page.locator("h1:focus", { hasText: name }).waitFor();
    await waitForTitle(page, name);
    expect(await markedPages(page)).toEqual([name]);
  }
});

test("an outage is reported once on a page that has something to show", async () => {
  using proxy = await startTcpProxy(Number(new URL(session.service.operatorUrl).port));
  const page = await open("/", { origin: `http://127.0.0.1:${proxy.port}` });
  await waitForText(page, "All plants are on disk");
  await waitUntil(async () => (await page.locator("[aria-busy=true]").count()) === 0);
  proxy.refuse();
  await waitForText(page, /No connection to the service since \d\d:\d\d:\d\d/);
  // What is polled has failed by now: it is marked as old.
  await page.locator(".stale").first().waitFor();
  expect(await page.locator(".error-notice:not(.offline)").count()).toBe(0);
  await page.goto("about:blank");
});

// The last can be no path of a plant: it is no UTF-8.
test.each(["/nowhere", "/plantsfoo", "/plants/", "/import/12", "/plants/%zz"])(
  "an unknown path such as %s says that there is nothing",
  async (path) => {
    const page = await open(path);
    await waitForText(page, `There is nothing at ${path}`);
    await waitForTitle(page, "Page not found");
    expect(await markedPages(page)).toEqual([]);
    expect(await statusOf(session.service.operatorUrl, path)).toBe(404);
    await page.getByRole("link", { name: "Go to the overview" }).click();
    await waitForHeading(page, "Overview");
  },
);

test("the path of a plant is marked as the page of plants", async () => {
  const page = await open("/plants/12");
  await waitForHeading(page, "Plant not found");
  expect(await markedPages(page)).toEqual(["Plants"]);
});
