// The docs page: its text, its samples, and what it does in a browser.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { name as clientName } from "../../packages/client/package.json" with { type: "json" };
import { catalogue, publicKinds } from "../../src/http/error-catalogue.ts";
import * as browser from "../support/browser.ts";
import { collectErrors } from "../support/console-session.ts";
import {
  bodyOf,
  hostileName,
  runRequest,
  sampleOf,
  textOfMarkup,
  tryItSample,
} from "../support/docs-samples.ts";
import { post } from "../support/post-plants.ts";
import { rawPost, sendRaw } from "../support/raw-http.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { startTestService } from "../support/test-service.ts";
import { accessToken } from "../support/tokens.ts";

const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());
const html = await (await fetch(`${service.url}/docs`)).text();

const all = (pattern: RegExp, text = html) => [...text.matchAll(pattern)].map(([, found = ""]) => found);

describe("the docs page", () => {
  test("has a list of contents that names each section", () => {
    const contents = /<nav [^>]*aria-label="Contents".*?<\/nav>/s.exec(html)?.[0] ?? "";
    const hrefs = all(/href="([^"]+)"/g, contents);
    const main = html.slice(html.indexOf("<main"));
    expect(hrefs).toEqual(all(/<h(?:2|3)[^>]* id="([^"]+)"/g, main).map((id) => `#${id}`));
    expect(hrefs.length).toBeGreaterThan(10);
  });

  test("has each error under its status, with a link to it and a response as an example", () => {
    const shown = all(/(<section class="status".*?<\/section>)/gs).flatMap((section) =>
      all(/(<article.*?<\/article>)/gs, section).map((article) => {
        const { error, message } = JSON.parse(textOfMarkup(/<pre>(.*?)<\/pre>/s.exec(article)?.[1] ?? ""));
        expect(article).toContain(`<article id="${error}">`);
        expect(article).toContain(`<a href="#${error}">${error}</a>`);
        return [/id="status-(\d+)"/.exec(section)?.[1], error, message];
      }),
    );
    const known = publicKinds.map((kind) => catalogue[kind]).sort((a, b) => a.error - b.error);
    expect(shown).toEqual(known.map(({ error, example }) => [String(error).slice(0, 3), error, example]));
  });

  test("names the client library as its package does", () => {
    expect(textOfMarkup(html)).toContain(`from "${clientName}"`);
  });
});

test("the docs page has as examples what the service responds with, and the length of each body", async () => {
  await using limited = await startTestService({ "rate-limit": "1/m" });
  const plant = '{"id": 1, "name": "Fern", "tag": "indoor"}';
  await post(service.url, plant);
  await post(limited.url, plant);
  const request = rawPost(plant);
  const unknownToken = request.replace(accessToken, "unknown-token-0123456789");
  const responses = {
    replayed: (await sendRaw(service.port, [request])).text,
    "over-rate": (await sendRaw(limited.port, [request])).text,
    refused: (await sendRaw(service.port, [unknownToken])).text,
  };
  /** Without what differs each time. */
  const stable = (response: string) =>
    response
      .replaceAll("\r", "")
      .replaceAll(/^(Date|X-Request-Id|Retry-After): .+$/gm, "$1: …")
      .replace(/in \d+ s/, "in … s")
      .replace(/^Content-Length: .+$/m, "Content-Length: …");
  for (const [name, response] of Object.entries(responses)) {
    const shown = new RegExp(`id="example-${name}"[^>]*>(.*?)</pre>`, "s").exec(html);
    const example = textOfMarkup(shown?.[1] ?? "");
    expect(stable(example)).toBe(stable(response));
    expect(example).toContain(`Content-Length: ${example.split("\n\n")[1]?.length}\n`);
  }
});

// test/slow/docs-samples.test.ts runs those in Python and Go.
test.each(["curl", "javascript"] as const)(
  "the samples on the docs page in %s create a plant, and keep a large id exact",
  async (language) => {
    await using own = await startTestService();
    const page = await (await fetch(`${own.url}/docs`)).text();
    const answer = await runRequest(language, sampleOf(page, "create", language));
    expect(answer).toBe('{"name":"Fern","tag":"indoor"}');
    await post(own.url, await bodyOf(language, sampleOf(html, "large", language)));
    expect(storedPlants(own.database)).toMatchObject([
      { id: 1n, name: "Fern", tag: "indoor" },
      { id: 9007199254740993n, name: "Fern" },
    ]);
  },
);

browser.describe("in a browser, the docs page", () => {
  let chromium: Browser;
  let shared: Page | undefined;
  // Also the requests to other hosts.
  const pageErrors: string[] = [];
  beforeAll(async () => {
    chromium = await browser.openBrowser();
  });
  afterAll(async () => {
    await chromium?.close();
    expect(pageErrors).toEqual([]);
  });

  async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
    const page = await browser.newPage(chromium, options);
    collectErrors(page, pageErrors);
    return page;
  }

  /** Opens the docs in the one page of these tests, as for a first visit: another page takes twice the CPU time. */
  async function open(url = service.url): Promise<Page> {
    shared ??= await newPage({ permissions: ["clipboard-read", "clipboard-write"] });
    await shared.setViewportSize({ width: 1280, height: 600 });
    await shared.goto(`${url}/docs`);
    return shared;
  }

  test("copies its samples and every other block as they are", async () => {
    const page = await open();
    const blocks = page.locator(".code:has(> pre)");
    const blockCount = await blocks.count();
    expect(blockCount).toBeGreaterThan(publicKinds.length + 10);
    // Those in the other languages are not shown, and so have no role.
    expect(await blocks.getByRole("button", { name: /^Copy / }).count()).toBe(blockCount - 9);
    const request = page.locator("#create-samples .curl").getByRole("button", { name: "Copy Request" });
    expect(await browser.copiedBy(request)).toBe(sampleOf(html, "create", "curl"));
    const copyError = page.getByRole("button", { name: "Copy 40020", exact: true });
    const { error, example: message } = catalogue["id-conflict"];
    expect(await browser.copiedBy(copyError)).toBe(JSON.stringify({ error, message }));
    await page.getByRole("button", { name: "Copied 40020", exact: true }).waitFor();
  });

  test("sends a plant whose id no double can represent, and keeps the token to itself", async () => {
    const page = await open();
    const tokenField = await browser.secretField(page, "Access token");
    expect(tokenField).toEqual({ type: "text", autocomplete: "off", shown: "disc" });
    const plant = { name: 'O\'Fern "quoted" 🌱', tag: "indoor" };
    const first = await sendPlant(page, "9007199254740993", plant.name, plant.tag);
    expect(first).toContain(JSON.stringify(plant));
    expect(first).not.toContain("idempotent-replayed");
    const second = await sendPlant(page, "9007199254740993", plant.name, plant.tag);
    expect(second).toContain("idempotent-replayed: true");
    const stored = storedPlants(service.database);
    expect(stored.find(({ id }) => id === 9007199254740993n)).toMatchObject(plant);
  });

  test("shows an error with a button that copies it, and a link to what to do", async () => {
    const page = await open();
    const copy = page.locator("#exchange").getByRole("button", { name: "Copy Response", exact: true });
    expect(await copy.count()).toBe(0);
    expect(await sendPlant(page, "12x")).toContain("40011");
    expect(await browser.copiedBy(copy)).toMatch(/^\{"error":40011,.*\}\n\nx-request-id: \S+$/);
    await page.getByRole("link", { name: "What to do about 40011" }).click();
    expect(await page.locator(":target").getAttribute("id")).toBe("40011");
  });

  test("shows requests that send what the form does, and hides the token in them", async () => {
    const page = await open();
    const ids = { curl: "-9223372036854775808", javascript: "-9223372036854775807" } as const;
    for (const language of ["curl", "javascript"] as const) {
      await runRequest(language, await tryItSample(page, language, ids[language], hostileName));
      // The browser may have changed it: a field is one line.
      const name = await page.getByLabel("name", { exact: true }).inputValue();
      const sent = storedPlants(service.database).find(({ id }) => id === BigInt(ids[language]));
      expect({ language, name: sent?.name }).toEqual({ language, name });
    }
    const namedAsPlaceholder = await tryItSample(page, "go", "1", "<ACCESS_TOKEN>");
    expect(namedAsPlaceholder).toContain('"name": "<ACCESS_TOKEN>"');
    expect(namedAsPlaceholder).toContain(`"Bearer ${accessToken}"`);
    const secrets = page.locator("#try-samples .secret");
    expect(await secrets.allTextContents()).toEqual(Array(4).fill(accessToken));
    const style = "getComputedStyle(document.querySelector('#try-samples .secret'))";
    expect(await page.evaluate<string>(`${style}.getPropertyValue("-webkit-text-security")`)).toBe("disc");
  });

  test("sends the README's first plant unless told otherwise, and stores nothing in the browser", async () => {
    await using own = await startTestService();
    await post(own.url, '{"id": 1, "name": "Fern", "tag": "indoor"}');
    const page = await open(own.url);
    await page.getByLabel("Access token").fill(accessToken);
    await page.getByRole("button", { name: "Send plant" }).click();
    expect(await page.locator("#response .outcome").textContent()).toStartWith("200 OK");
    expect(await page.locator("#response .headers").textContent()).toContain("idempotent-replayed: true");
    expect(await page.evaluate<number>("sessionStorage.length + localStorage.length")).toBe(0);
  });

  test("can be read without JavaScript, and offers nothing that needs it", async () => {
    const page = await newPage({ javaScriptEnabled: false });
    await page.goto(`${service.url}/docs`);
    expect(await page.getByRole("heading", { name: "Errors" }).isVisible()).toBe(true);
    expect(await page.getByText(`curl ${service.url}/plants`).isVisible()).toBe(true);
    expect(await page.locator("noscript p").isVisible()).toBe(true);
    const samples = page.locator("#create-samples .sample:visible");
    const languages = await samples.evaluateAll((all) => all.map(({ classList }) => classList[1]));
    expect(languages).toEqual(["curl", "javascript", "python", "go"]);
    expect(await page.getByRole("button").count()).toBe(0);
  });

  test("works under a base URL with a path", async () => {
    const url = "https://example.org/garden/v1";
    await using moved = await startTestService({ "base-url": url });
    const page = await open(`http://${moved.addresses[0]}/garden/v1`);
    expect(await page.locator("#try-samples .curl").textContent()).toContain(`curl ${url}/plants`);
    expect(await sendPlant(page, "1")).toContain("200 OK");
    await page.getByRole("link", { name: "OpenAPI 3.1" }).click();
    expect(new URL(page.url()).pathname).toBe("/garden/v1/openapi.json");
  });
});

/** Fills in the form, sends it, and returns the response that the page shows. */
async function sendPlant(page: Page, id: string, name = "Fern", tag = ""): Promise<string> {
  await page.getByLabel("Access token").fill(accessToken);
  await page.getByLabel("id", { exact: true }).fill(id);
  await page.getByLabel("name", { exact: true }).fill(name);
  await page.getByLabel("tag").fill(tag);
  await page.getByRole("button", { name: "Send plant" }).click();
  await page.locator("#response .outcome").waitFor();
  await page.getByRole("button", { name: "Send plant", disabled: false }).waitFor();
  return (await page.locator("#response").textContent()) ?? "";
}
