// How the console looks to axe-core, and that it fits into windows of several widths: each run of axe-core takes a second of CPU
// time. A service that hangs is noticed only after seconds, and so is here too.
import { expect } from "bun:test";
import { axeViolations, describe, test } from "../support/browser.ts";
import { useConsole } from "../support/console-session.ts";
import { mintToken } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { startTestService } from "../support/test-service.ts";

const session = useConsole(600);
const { open } = session;

/** Each page, and what it shows once it has loaded. The last is the one in which a dialog is opened. */
const pages: readonly [path: string, loaded: string][] = [
  ["/", ".latest a"],
  ["/plants", ".rows .row"],
  ["/import", "input[type=file]"],
  ["/refused", ".refusals"],
  ["/audit", ".audit"],
  ["/system", ".system-table code"],
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

test("a service that hangs is not connected, even on a page that asks for nothing", async () => {
  await using service = await startTestService();
  using proxy = await startTcpProxy(Number(new URL(service.operatorUrl).port));
  const { secret: token } = await mintToken(service, { name: "ops", scopes: ["operator", "plants:create"] });
  const page = await open("/import", { token, origin: `http://127.0.0.1:${proxy.port}`, alone: true });
  await page.getByText("Connected", { exact: true }).waitFor();
  proxy.cut();
  await page.getByText("No response", { exact: true }).waitFor();
  await page.locator(".offline").waitFor();
  proxy.restore();
  await page.getByText("Connected", { exact: true }).waitFor();
  await page.locator(".offline").waitFor({ state: "detached" });
});
