// What surrounds the pages of the console, in a browser: theme, dialogs, a phone, navigation, an outage, unknown paths.
import { afterAll, expect } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, noStorage, test } from "../support/browser.ts";
import { textIn, useConsole, waitForText, waitUntil } from "../support/console-session.ts";
import { memoize } from "../support/memoize.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder();
const backupFolder = join(folder.path, "backups");
mkdirSync(backupFolder);
afterAll(() => folder[Symbol.dispose]());
const session = useConsole(1100, { "backup-folder": backupFolder });
const { open } = session;

describe("the theme", () => {
  const background = (page: Page) => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
  const light = "rgb(251, 251, 250)";
  const dark = "rgb(14, 17, 16)";

  /**
   * The background on a system that is light: before one is chosen, with dark chosen, with the system chosen again, and at last
   * with dark chosen in a browser that keeps nothing.
   */
  const readBackgrounds = memoize(async () => {
    const page = await open("/import", { alone: true });
    await page.emulateMedia({ colorScheme: "light" });
    const unchosen = await background(page);
    await chooseDark(page);
    const chosen = await background(page);
    // Without the page's script, what is left is what the file in <head> has done.
    await page.route("**/assets/main-*.js", (route) => route.abort());
    await page.reload();
    await waitForText(page, "Loading the console.");
    const beforeScript = await background(page);
    await page.unrouteAll();
    await page.reload();
    await page.getByRole("button", { name: "Theme: dark" }).click();
    await page.getByRole("button", { name: "Theme: system" }).waitFor();
    const systemChosen = await background(page);
    await page.emulateMedia({ colorScheme: "dark" });
    const systemChanged = await background(page);
    await page.emulateMedia({ colorScheme: "light" });
    await page.addInitScript(noStorage("localStorage"));
    await page.reload();
    await chooseDark(page);
    const chosenWithoutStorage = await background(page);
    await page.context().close();
    return { unchosen, chosen, beforeScript, systemChosen, systemChanged, chosenWithoutStorage };
  });

  async function chooseDark(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Theme: system" }).click();
    await page.getByRole("button", { name: "Theme: light" }).click();
    await page.getByRole("button", { name: "Theme: dark" }).waitFor();
  }

  test("is the system's until one is chosen", async () => {
    expect((await readBackgrounds()).unchosen).toBe(light);
  });

  test("is the chosen one", async () => {
    expect((await readBackgrounds()).chosen).toBe(dark);
  });

  test("is the chosen one before the page's script has loaded", async () => {
    expect((await readBackgrounds()).beforeScript).toBe(dark);
  });

  test("is the system's once that is chosen again", async () => {
    expect((await readBackgrounds()).systemChosen).toBe(light);
  });

  test("changes with the system's", async () => {
    expect((await readBackgrounds()).systemChanged).toBe(dark);
  });

  test("can be chosen until the next load in a browser that keeps nothing", async () => {
    expect((await readBackgrounds()).chosenWithoutStorage).toBe(dark);
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

// Opens a page, and collects what the navigation marks, and what a phone of 360 px would have to scroll sideways.
const readPage = memoize(async (path: string) => {
  const page = await open(path);
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  const marked = await markedPages(page);
  await page.setViewportSize({ width: 360, height: 740 });
  await page.getByRole("heading", { level: 1 }).waitFor();
  await waitUntil(async () => (await page.locator('[aria-busy="true"]').count()) === 0);
  const title = await textIn(page, "h1");
  // The boxes that can be scrolled sideways, and the page itself if it can.
  const scrolledSideways = await page.evaluate(`[...document.querySelectorAll("html, body *")]
    .filter((box) => box === document.documentElement || /auto|scroll/.test(getComputedStyle(box).overflowX))
    .filter((box) => box.scrollWidth > box.clientWidth)
    .map((box) => box.outerHTML.slice(0, 80))`);
  return { marked, title, scrolledSideways };
});

describe("a phone of 360 px", () => {
  test.each([
    ["/", "Overview"],
    ["/plants", "Plants"],
    ["/import", "Import"],
    ["/tokens", "Tokens"],
    ["/refused", "Refused"],
    ["/audit", "Audit"],
    ["/system", "System"],
  ])("shows all of %s without scrolling sideways", async (path, title) => {
    const shown = await readPage(path);
    expect(shown.title).toBe(title);
    expect(shown.scrolledSideways).toEqual([]);
  });
});

describe("the controls on a phone of 360 px", () => {
  const fingertipPx = 44;

  /** The controls of the page with the tokens: how high each is, and where the links of the navigation are. */
  const measureControls = memoize(async () => {
    const page = await open("/tokens");
    await page.setViewportSize({ width: 360, height: 740 });
    await page.getByRole("button", { name: "Rotate ops" }).waitFor();
    const controls = await page.locator("nav a, main button, .account button").evaluateAll((elements) =>
      elements.map((element) => ({
        text: element.textContent,
        heightPx: element.getBoundingClientRect().height,
      })),
    );
    const links = page.getByRole("navigation").getByRole("link");
    const linkTops = await links.evaluateAll((all) => all.map((link) => link.getBoundingClientRect().top));
    return { controls, linkTops };
  });

  test("are as high as a fingertip needs", async () => {
    const { controls } = await measureControls();
    expect(controls.length).toBeGreaterThanOrEqual(10);
    expect(controls.filter(({ heightPx }) => heightPx < fingertipPx)).toEqual([]);
  });

  test("include all pages of the navigation", async () => {
    const { linkTops } = await measureControls();
    expect(linkTops.length).toBe(7);
  });

  test("have the navigation on two rows", async () => {
    const { linkTops } = await measureControls();
    expect(new Set(linkTops).size).toBe(2);
  });
});

describe("a dialog", () => {
  test("higher than the window keeps its buttons in view", async () => {
    const page = await open("/tokens");
    await page.setViewportSize({ width: 360, height: 560 });
    await page.getByRole("button", { name: "Create a token" }).click();
    const submit = page.getByRole("button", { name: "Create token" });
    await submit.waitFor();
    const box = await submit.boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(560);
    await page.getByRole("button", { name: "Cancel" }).click();
  });
});

// Opens a path at which there is no page, and collects what the console responds with.
const readUnknown = memoize(async (path: string) => {
  const { status } = await fetch(session.service.operatorUrl + path);
  const page = await open(path);
  await waitForText(page, `There is nothing at ${path}`);
  return { status, title: await page.title(), marked: await markedPages(page) };
});

describe("the navigation", () => {
  test.each([
    ["/", "Overview"],
    ["/plants", "Plants"],
    ["/import", "Import"],
  ])("marks the page at %p as current", async (path, name) => {
    expect((await readPage(path)).marked).toEqual([name]);
  });

  test("marks the page of plants as current at a plant", async () => {
    const page = await open("/plants/12");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    expect(await markedPages(page)).toEqual(["Plants"]);
  });

  test.each(["/nowhere", "/plantsfoo", "/plants/", "/import/12"])(
    "marks no page as current at %p",
    async (path) => {
      expect((await readUnknown(path)).marked).toEqual([]);
    },
  );
});

describe("an outage", () => {
  test.each([
    ["/", "All plants are on disk"],
    ["/refused", "since the start"],
    ["/system", "Plants can be stored"],
  ])("is reported once on a page that has something to show: %s", async (path, shown) => {
    using proxy = await startTcpProxy(Number(new URL(session.service.operatorUrl).port));
    const page = await open(path, { origin: `http://127.0.0.1:${proxy.port}` });
    await waitForText(page, shown);
    await waitUntil(async () => (await page.locator("[aria-busy=true]").count()) === 0);
    proxy.refuse();
    await waitForText(page, /No connection to the service since \d\d:\d\d:\d\d/);
    // What is polled has failed by now: it is marked as old.
    await page.locator(".stale").first().waitFor();
    expect(await page.locator(".error-notice:not(.offline)").count()).toBe(0);
    await page.goto("about:blank");
  });
});

describe("an unknown path", () => {
  test.each(["/nowhere", "/plants/", "/plants/%zz"])("such as %p says so", async (path) => {
    const { status, title } = await readUnknown(path);
    expect(status).toBe(404);
    expect(title).toBe("Page not found · Plant Store");
  });

  test("has a link to the overview", async () => {
    const page = await open("/nowhere");
    await page.getByRole("link", { name: "Go to the overview" }).click();
    await page.locator(".latest a").first().waitFor();
  });
});
