// How the console looks to axe-core, and that it fits into windows of several widths: each run of axe-core takes a second of CPU
// time.
import { expect } from "bun:test";
import { axeViolations, describe, test } from "../support/browser.ts";
import { useConsole } from "../support/console-session.ts";
import { post } from "../support/post-plants.ts";

const session = useConsole(600);
const { open } = session;

/** Each page, and what it shows once it has loaded. The last is the one in which a dialog is opened. */
const pages: readonly [path: string, loaded: string][] = [
  ["/", ".latest a"],
  ["/plants", ".plants-table"],
  ["/import", "input[type=file]"],
  ["/refused", ".refusals"],
  ["/audit", ".audit"],
  ["/system", ".settings code"],
  ["/tokens", ".tokens"],
];

describe("axe-core finds no violations, and every page fits", () => {
  // A wider window has the same layout as one of 1280 px.
  test.each([
    [360, "light"],
    [768, "light"],
    [1280, "dark"],
  ] as const)("in %d px and the %s theme", async (width, theme) => {
    await post(session.service.url, "[]");
    const page = await open("/", { token: "", alone: true });
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 800 });
    const check = async (what: string, checked = "html"): Promise<void> => {
      expect(await axeViolations(page, checked), what).toEqual([]);
      const outsidePx = "document.documentElement.scrollWidth - document.body.offsetWidth";
      expect(await page.evaluate<number>(outsidePx), what).toBe(0);
    };

    await page.locator(".sign-in form").waitFor();
    await check("signing in");
    await page.evaluate(`sessionStorage.setItem("plant-store-token", ${JSON.stringify(session.secret)})`);
    for (const [path, loaded] of pages) {
      await page.goto(session.service.operatorUrl + path);
      await page.locator(loaded).first().waitFor();
      await check(path);
    }
    await page.getByRole("button", { name: "Create a token" }).click();
    await page.locator("dialog fieldset").waitFor();
    await check("the dialog", "dialog");
    await page.context().close();
  });
});
