import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { name as clientName } from "../packages/client/package.json" with { type: "json" };
import { catalogue, publicKinds } from "../src/http/error-catalogue.ts";
import * as browser from "./browser.ts";
import { collectErrors } from "./console-session.ts";
import { accessToken, post, rawPost, sendRaw, startTestService, storedPlants } from "./harness.ts";

const running = await startTestService();
afterAll(() => running[Symbol.asyncDispose]());
const html = await (await fetch(`${running.url}/docs`)).text();

const all = (pattern: RegExp, text = html) => [...text.matchAll(pattern)].map(([, found = ""]) => found);
const textOf = (markup: string) =>
  markup
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

describe("the docs page", () => {
  test("has a list of contents that names each section", () => {
    const contents = /<nav aria-label="Contents".*?<\/nav>/s.exec(html)?.[0] ?? "";
    const hrefs = all(/href="([^"]+)"/g, contents);
    const main = html.slice(html.indexOf("<main"));
    expect(hrefs).toEqual(all(/<h(?:2|3)[^>]* id="([^"]+)"/g, main).map((id) => `#${id}`));
    expect(hrefs.length).toBeGreaterThan(10);
  });

  test("has each error under its status, with a link to it and a response as an example", () => {
    const shown = all(/(<section class="status".*?<\/section>)/gs).flatMap((section) =>
      all(/(<article.*?<\/article>)/gs, section).map((article) => {
        const { error, message } = JSON.parse(textOf(/<pre>(.*?)<\/pre>/s.exec(article)?.[1] ?? ""));
        expect(article).toContain(`<article id="${error}">`);
        expect(article).toContain(`<a href="#${error}">${error}</a>`);
        return [/id="status-(\d+)"/.exec(section)?.[1], error, message];
      }),
    );
    const known = publicKinds.map((kind) => catalogue[kind]).sort((a, b) => a.error - b.error);
    expect(shown).toEqual(known.map(({ error, example }) => [String(error).slice(0, 3), error, example]));
  });

  test("shows the responses that the service sends", async () => {
    const plant = '{"id": 1, "name": "Fern", "tag": "indoor"}';
    await using limited = await startTestService({ "rate-limit": "1/m" });
    await post(running.url, plant);
    await post(limited.url, plant);
    for (const [example, port, token] of [
      ["replayed", running.port, accessToken],
      ["over-rate", limited.port, accessToken],
      ["refused", running.port, "unknown-token-0123456789"],
    ] as const) {
      const { text } = await sendRaw(port, [rawPost(plant).replace(accessToken, token)]);
      // These differ each time.
      const stable = (response: string) =>
        response
          .replaceAll("\r", "")
          .replaceAll(/^(Date|X-Request-Id|Retry-After): .+$/gm, "$1: …")
          .replace(/in \d+ s/, "in … s")
          .replace(/^Content-Length: .+$/m, "Content-Length: …");
      const shown = textOf(new RegExp(`id="example-${example}"[^>]*>(.*?)</pre>`, "s").exec(html)?.[1] ?? "");
      expect(stable(shown)).toBe(stable(text));
      expect(shown).toContain(`Content-Length: ${shown.split("\n\n")[1]?.length}\n`);
    }
  });

  test("names the client library as its package does", () => {
    expect(textOf(html)).toContain(`from "${clientName}"`);
  });
});

browser.describe("in a browser, the docs page", () => {
  let chromium: Browser;
  // Also the requests to other hosts.
  const pageErrors: string[] = [];
  beforeAll(async () => {
    chromium = await browser.openBrowser();
  });
  afterAll(async () => {
    await chromium?.close();
    expect(pageErrors).toEqual([]);
  });

  async function open(options: BrowserContextOptions = {}, url = running.url): Promise<Page> {
    const page = await browser.newPage(chromium, options);
    collectErrors(page, pageErrors);
    await page.goto(`${url}/docs`);
    return page;
  }

  test("sends a plant whose id no double can represent, and hides the token", async () => {
    const page = await open();
    expect(await browser.secretField(page, "Access token")).toEqual({
      type: "text",
      autocomplete: "off",
      shown: "disc",
    });
    const plant = { name: 'O\'Fern "quoted" 🌱', tag: "indoor" };
    const send = () => sendPlant(page, "9007199254740993", plant.name, plant.tag);
    expect(await send()).toContain(JSON.stringify(plant));
    expect(await send()).toContain("idempotent-replayed: true");
    const stored = storedPlants(running.database);
    expect(stored.find(({ id }) => id === 9007199254740993n)).toMatchObject(plant);
    expect(await page.evaluate("sessionStorage.length + localStorage.length")).toBe(0);
  });

  test("shows an error with its message and a link to it", async () => {
    const page = await open();
    expect(await sendPlant(page, "12x")).toContain("40011");
    await page.getByRole("link", { name: "What to do about 40011" }).click();
    expect(await page.locator(":target").getAttribute("id")).toBe("40011");
  });

  test("shows a command that works in a shell, with the token complete and hidden on the screen", async () => {
    const page = await open();
    await page.getByLabel("Access token").fill(accessToken);
    await page.getByLabel("id", { exact: true }).fill("-9223372036854775808");
    await page.getByLabel("name", { exact: true }).fill("It's $HOME");
    const command = (await page.locator("#command").textContent()) ?? "";
    const shell = Bun.spawn(["sh", "-c", command.replace("curl ", "curl -s ")]);
    expect(await new Response(shell.stdout).text()).toBe('{"name":"It\'s $HOME"}');
    expect(await page.locator("#command .secret").textContent()).toBe(accessToken);
  });

  test("can be read without JavaScript, and offers nothing then that needs it", async () => {
    const page = await open({ javaScriptEnabled: false });
    expect(await page.getByRole("heading", { name: "Errors" }).isVisible()).toBe(true);
    expect(await page.getByText(`curl ${running.url}/plants`).isVisible()).toBe(true);
    expect(await page.locator("noscript p").isVisible()).toBe(true);
    expect(await page.getByRole("button").count()).toBe(0);
  });

  test("works under a base URL with a path", async () => {
    const url = "https://example.org/garden/v1";
    await using moved = await startTestService({ "base-url": url });
    const page = await open({}, `http://${moved.service.addresses[0]}/garden/v1`);
    expect(await page.locator("#command").textContent()).toContain(`curl ${url}/plants`);
    expect(await sendPlant(page, "1")).toContain("200 OK");
    await page.getByRole("link", { name: "OpenAPI 3.1" }).click();
    expect(new URL(page.url()).pathname).toBe("/garden/v1/openapi.json");
  });

  test.each([
    [360, "light"],
    [2560, "dark"],
  ] as const)("fits into %i px, and axe finds nothing in the %s theme", async (width, colorScheme) => {
    const page = await open({ colorScheme, viewport: { width, height: 900 } });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    expect(await browser.axeViolations(page)).toEqual([]);
  });
});

/** Fills in the form, sends it, and returns the response that the page shows. */
async function sendPlant(page: Page, id: string, name = "Fern", tag = ""): Promise<string> {
  await page.getByLabel("Access token").fill(accessToken);
  await page.getByLabel("id", { exact: true }).fill(id);
  await page.getByLabel("name", { exact: true }).fill(name);
  await page.getByLabel("tag").fill(tag);
  await page.getByRole("button", { name: "Send plant" }).click();
  await page.locator("#response .status").waitFor();
  await page.getByRole("button", { name: "Send plant", disabled: false }).waitFor();
  return (await page.locator("#response").textContent()) ?? "";
}
