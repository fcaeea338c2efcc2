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
import { eventually } from "../support/eventually.ts";
import { memoize } from "../support/memoize.ts";
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

describe("the docs page has as an example", () => {
  const plant = '{"id": 1, "name": "Fern", "tag": "indoor"}';

  function exampleOf(response: string): string {
    const shown = new RegExp(`id="example-${response}"[^>]*>(.*?)</pre>`, "s").exec(html);
    return textOfMarkup(shown?.[1] ?? "");
  }

  /** Without what differs each time. */
  function stable(response: string): string {
    return response
      .replaceAll("\r", "")
      .replaceAll(/^(Date|X-Request-Id|Retry-After): .+$/gm, "$1: …")
      .replace(/in \d+ s/, "in … s")
      .replace(/^Content-Length: .+$/m, "Content-Length: …");
  }

  test("the response to a plant that was sent before", async () => {
    await post(service.url, plant);
    const { text } = await sendRaw(service.port, [rawPost(plant)]);
    expect(stable(exampleOf("replayed"))).toBe(stable(text));
  });

  test("the response to a request over the rate limit", async () => {
    await using limited = await startTestService({ "rate-limit": "1/m" });
    await post(limited.url, plant);
    const { text } = await sendRaw(limited.port, [rawPost(plant)]);
    expect(stable(exampleOf("over-rate"))).toBe(stable(text));
  });

  test("the response to an unknown token", async () => {
    const request = rawPost(plant).replace(accessToken, "unknown-token-0123456789");
    const { text } = await sendRaw(service.port, [request]);
    expect(stable(exampleOf("refused"))).toBe(stable(text));
  });

  test.each(["replayed", "over-rate", "refused"])(
    "the response %s with the length of its body",
    (response) => {
      const example = exampleOf(response);
      const [, body] = example.split("\n\n");
      expect(example).toContain(`Content-Length: ${body?.length}\n`);
    },
  );
});

// test/slow/docs-samples.test.ts runs those in Python and Go.
describe.each(["curl", "javascript"] as const)("the samples on the docs page in %s", (language) => {
  test("create a plant", async () => {
    await using own = await startTestService();
    const page = await (await fetch(`${own.url}/docs`)).text();
    const answer = await runRequest(language, sampleOf(page, "create", language));
    expect(answer).toBe('{"name":"Fern","tag":"indoor"}');
    expect(storedPlants(own.database)).toMatchObject([{ id: 1n, name: "Fern", tag: "indoor" }]);
  });

  test("keep a large id exact", async () => {
    await using own = await startTestService();
    await post(own.url, await bodyOf(language, sampleOf(html, "large", language)));
    expect(storedPlants(own.database)).toMatchObject([{ id: 9007199254740993n, name: "Fern" }]);
  });
});

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

  /** A page in which `window.themeAtBody` is the theme before there was anything to draw. */
  async function newPageThatRecordsItsTheme(): Promise<Page> {
    const page = await newPage({ permissions: ["clipboard-read", "clipboard-write"] });
    await page.addInitScript(`new MutationObserver((_, observer) => {
      if (document.body === null) return;
      window.themeAtBody = document.documentElement.dataset.theme;
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true })`);
    return page;
  }

  /** Opens the docs in the one page of these tests, as for a first visit: another page takes twice the CPU time. */
  async function open(url = service.url): Promise<Page> {
    shared ??= await newPageThatRecordsItsTheme();
    await shared.emulateMedia({ colorScheme: null });
    await shared.setViewportSize({ width: 1280, height: 600 });
    // What is stored belongs to an origin.
    if (new URL(shared.url()).origin !== new URL(url).origin) await shared.goto(`${url}/livez`);
    await shared.evaluate("localStorage.clear(); sessionStorage.clear()");
    await shared.goto(`${url}/docs`);
    return shared;
  }

  /** Reads what the page shows at a first visit, and copies two of its blocks. */
  const readPage = memoize(async () => {
    const page = await open();
    const tokenField = await browser.secretField(page, "Access token");
    const sample = "#large-samples .python";
    const colours = {
      keywords: await coloured(page, "keyword", sample),
      comments: await coloured(page, "comment", sample),
      strings: await coloured(page, "string", sample),
      numbers: await coloured(page, "number", sample),
    };
    const blocks = page.locator(".code:has(> pre)");
    const blockCount = await blocks.count();
    const copyButtonCount = await blocks.getByRole("button", { name: /^Copy / }).count();
    const request = page.locator("#create-samples .curl").getByRole("button", { name: "Copy Request" });
    const copiedSample = await browser.copiedBy(request);
    const error = page.getByRole("button", { name: "Copy 40020", exact: true });
    const copiedError = await browser.copiedBy(error);
    await page.getByRole("button", { name: "Copied 40020", exact: true }).waitFor();
    return { tokenField, colours, blockCount, copyButtonCount, copiedSample, copiedError };
  });

  test("has a field for the token that hides it", async () => {
    expect((await readPage()).tokenField).toEqual({ type: "text", autocomplete: "off", shown: "disc" });
  });

  const sentPlant = { name: 'O\'Fern "quoted" 🌱', tag: "indoor" };
  /** Sends the same plant twice, and collects what the page shows and stores. */
  const sendTwice = memoize(async () => {
    const page = await open();
    const first = await sendPlant(page, "9007199254740993", sentPlant.name, sentPlant.tag);
    const second = await sendPlant(page, "9007199254740993", sentPlant.name, sentPlant.tag);
    const storedItems = await page.evaluate<number>("sessionStorage.length + localStorage.length");
    return { first, second, storedItems };
  });

  test("sends a plant whose id no double can represent", async () => {
    expect((await sendTwice()).first).toContain(JSON.stringify(sentPlant));
    const stored = storedPlants(service.database);
    expect(stored.find(({ id }) => id === 9007199254740993n)).toMatchObject(sentPlant);
  });

  test("shows that a plant was already stored", async () => {
    expect((await sendTwice()).second).toContain("idempotent-replayed: true");
  });

  test("stores no token in the browser", async () => {
    expect((await sendTwice()).storedItems).toBe(0);
  });

  /** Sends a plant with an id that is none, and collects what the page shows, copies and links to. */
  const sendInvalid = memoize(async () => {
    const page = await open();
    const copy = page.locator("#exchange").getByRole("button", { name: "Copy Response", exact: true });
    const copyButtonsBefore = await copy.count();
    const response = await sendPlant(page, "12x");
    const requestStrings = await coloured(page, "string", "#try-samples .go");
    const responseNumbers = await coloured(page, "number", "#response");
    const copied = await browser.copiedBy(copy);
    await page.getByRole("link", { name: "What to do about 40011" }).click();
    const target = await page.locator(":target").getAttribute("id");
    return { copyButtonsBefore, response, requestStrings, responseNumbers, copied, target };
  });

  test("shows an error with its message and a link to it", async () => {
    const { response, target } = await sendInvalid();
    expect(response).toContain("40011");
    expect(target).toBe("40011");
  });

  const hostileIds = { curl: "-9223372036854775808", javascript: "-9223372036854775807" };
  /** Fills in the form, and collects the requests that it shows: they send one plant in each language. */
  const fillIn = memoize(async () => {
    const page = await open();
    const samples = {
      curl: await tryItSample(page, "curl", hostileIds.curl, hostileName),
      javascript: await tryItSample(page, "javascript", hostileIds.javascript, hostileName),
    };
    // The browser may have changed it: a field is one line.
    const name = await page.getByLabel("name", { exact: true }).inputValue();
    const secrets = await page.locator("#try-samples .secret").allTextContents();
    const style = "getComputedStyle(document.querySelector('#try-samples .secret'))";
    const secretStyle = await page.evaluate<string>(`${style}.getPropertyValue("-webkit-text-security")`);
    const namedAsPlaceholder = await tryItSample(page, "go", "1", "<ACCESS_TOKEN>");
    return { samples, name, secrets, secretStyle, namedAsPlaceholder };
  });

  test.each(["curl", "javascript"] as const)(
    "shows a request in %s that sends what the form does",
    async (language) => {
      const { samples, name } = await fillIn();
      await runRequest(language, samples[language]);
      const sent = storedPlants(service.database).find(({ id }) => id === BigInt(hostileIds[language]));
      expect(sent?.name).toBe(name);
    },
  );

  test("hides the token in its requests on the screen", async () => {
    const { secrets, secretStyle } = await fillIn();
    expect(secrets).toEqual(Array(4).fill(accessToken));
    expect(secretStyle).toBe("disc");
  });

  /** The languages of the samples that are shown, without repetition. */
  const shownLanguages = (page: Page) =>
    page.evaluate<string[]>(`[...new Set([...document.querySelectorAll(".sample")]
      .filter((sample) => sample.checkVisibility()).map((sample) => sample.classList[1]))]`);
  const chooseLanguage = (page: Page, name: string) =>
    page.locator("#create-samples").getByRole("button", { name, exact: true }).click();

  const pressedPython = (page: Page) =>
    page.getByRole("button", { name: "Python", exact: true, pressed: true }).count();

  const colorScheme = (page: Page) =>
    page.evaluate<string>("getComputedStyle(document.documentElement).colorScheme");
  const themeSwitch = (page: Page, theme: string) => page.getByRole("button", { name: `Theme: ${theme}` });

  /** Chooses Python for one sample and a theme, and collects what is shown before, after, and at the next visits. */
  const chooseAndReturn = memoize(async () => {
    const page = await open();
    const before = await shownLanguages(page);
    await chooseLanguage(page, "Python");
    const after = { languages: await shownLanguages(page), pressed: await pressedPython(page) };
    await themeSwitch(page, "system").click();
    const stored = await page.evaluate<string[][]>("Object.entries(localStorage)");
    await page.reload();
    const atNextVisit = { languages: await shownLanguages(page), pressed: await pressedPython(page) };
    await themeSwitch(page, "light").waitFor();
    const themeAtBody = await page.evaluate<string>("window.themeAtBody");
    await page.evaluate('localStorage.setItem("plant-store-language", "cobol")');
    await page.reload();
    return { before, after, stored, atNextVisit, themeAtBody, unknown: await shownLanguages(page) };
  });

  test("shows every sample in the language that was chosen for one", async () => {
    const { before, after } = await chooseAndReturn();
    expect(before).toEqual(["curl"]);
    expect(after).toEqual({ languages: ["python"], pressed: 3 });
  });

  test("shows the samples in the chosen language at the next visit", async () => {
    expect((await chooseAndReturn()).atNextVisit).toEqual({ languages: ["python"], pressed: 3 });
  });

  test("has the chosen theme at the next visit before there is anything to draw", async () => {
    expect((await chooseAndReturn()).themeAtBody).toBe("light");
  });

  test("stores nothing in the browser but the chosen language and theme", async () => {
    expect((await chooseAndReturn()).stored.sort()).toEqual([
      ["plant-store-language", "python"],
      ["plant-store-theme", "light"],
    ]);
  });

  test("ignores a stored language that it does not have", async () => {
    expect((await chooseAndReturn()).unknown).toEqual(["curl"]);
  });

  test("has a button that chooses each theme in turn", async () => {
    const page = await open();
    await themeSwitch(page, "system").click();
    expect(await colorScheme(page)).toBe("light");
    await themeSwitch(page, "light").click();
    expect(await colorScheme(page)).toBe("dark");
    await themeSwitch(page, "dark").click();
    await themeSwitch(page, "system").waitFor();
    expect(await colorScheme(page)).toBe("light dark");
  });

  /** Chooses Go and the dark theme in a browser that keeps nothing, and collects what is shown. */
  const chooseWithoutStorage = memoize(async () => {
    const page = await newPage();
    await page.addInitScript(browser.noStorage("localStorage"));
    await page.goto(`${service.url}/docs`);
    await chooseLanguage(page, "Go");
    const chosen = await shownLanguages(page);
    await themeSwitch(page, "system").click();
    await themeSwitch(page, "light").click();
    const theme = await colorScheme(page);
    await page.reload();
    return { chosen, theme, atNextVisit: await shownLanguages(page) };
  });

  test("shows the samples in the chosen language if the browser refuses to keep it", async () => {
    const { chosen, atNextVisit } = await chooseWithoutStorage();
    expect(chosen).toEqual(["go"]);
    expect(atNextVisit).toEqual(["curl"]);
  });

  test("shows the chosen theme if the browser refuses to keep it", async () => {
    expect((await chooseWithoutStorage()).theme).toBe("dark");
  });

  test("keeps the button of the chosen language where it was clicked", async () => {
    const page = await open();
    await page.setViewportSize({ width: 1000, height: 600 });
    const button = page.locator("#large-samples").getByRole("button", { name: "Go", exact: true });
    await button.scrollIntoViewIfNeeded();
    const before = await button.boundingBox();
    await button.click();
    expect((await button.boundingBox())?.y).toBeCloseTo(before?.y ?? 0, 0);
  });

  test("copies every block", async () => {
    const { blockCount, copyButtonCount, copiedError } = await readPage();
    expect(blockCount).toBeGreaterThan(publicKinds.length + 10);
    // Those in the other languages are not shown, and so have no role.
    expect(copyButtonCount).toBe(blockCount - 9);
    const { error, example: message } = catalogue["id-conflict"];
    expect(copiedError).toBe(JSON.stringify({ error, message }));
  });

  test("copies a sample as it is without its colours", async () => {
    expect((await readPage()).copiedSample).toBe(sampleOf(html, "create", "curl"));
  });

  /** The texts in the colour of such a part of the code, inside an element of the page. */
  const coloured = (page: Page, kind: "comment" | "string" | "number" | "keyword", inside: string) =>
    page.evaluate<string[]>(`(() => {
      const shown = document.querySelector("${inside}");
      const probe = shown.appendChild(document.createElement("i"));
      probe.style.color = "var(--code-${kind})";
      const { color } = getComputedStyle(probe);
      probe.remove();
      return [...shown.querySelectorAll("span")]
        .filter((part) => getComputedStyle(part).color === color)
        .map(({ textContent }) => textContent);
    })()`);

  test("colours the keywords, comments, strings and numbers of a sample", async () => {
    expect((await readPage()).colours).toEqual({
      keywords: ["import"],
      comments: ["# Wrong: sends 9007199254740992.0", "# Right"],
      strings: ['"id"', '"id"', '"name"', '"Fern"'],
      numbers: ["9007199254740993", "9007199254740993"],
    });
  });

  test("colours the request and the response of the form", async () => {
    const { requestStrings, responseNumbers } = await sendInvalid();
    expect(requestStrings).toContain('`{"id": "12x", "name": "Fern"}`');
    expect(requestStrings).toContain(`"Bearer ${accessToken}"`);
    expect(responseNumbers).toEqual(["40011"]);
  });

  test("takes a name for a name, even if it is the placeholder of the token", async () => {
    const { namedAsPlaceholder } = await fillIn();
    expect(namedAsPlaceholder).toContain('"name": "<ACCESS_TOKEN>"');
    expect(namedAsPlaceholder).toContain(`"Bearer ${accessToken}"`);
  });

  test("copies the response to a plant with its request id", async () => {
    const { copyButtonsBefore, copied } = await sendInvalid();
    expect(copyButtonsBefore).toBe(0);
    expect(copied).toMatch(/^\{"error":40011,.*\}\n\nx-request-id: \S+$/);
  });

  test("marks the section in view in the contents", async () => {
    const page = await open();
    const marked = page.locator("nav [aria-current]");
    const marks = (section: string) =>
      eventually(async () => (await marked.allTextContents()).join() === section, `${section} to be marked`);
    await marks("Introduction");
    await page.locator("#retrying").evaluate((heading) => heading.scrollIntoView());
    await marks("Retrying");
    // Too short to reach the top of the window.
    await page.getByRole("link", { name: "503 Service Unavailable" }).click();
    await marks("503 Service Unavailable");
  });

  const { error: overRate, example: overRateMessage } = catalogue["over-rate"];
  const filtersFor42901: [what: string, text: string][] = [
    ["its number", "42901"],
    ["its status", "429"],
    ["the name of its status and a word", "too many requests rate"],
    ["a header in its remedy", "retry-after"],
    ["words of its message", "TRY AGAIN IN 1 S"],
    ["words between commas", "token, rate, limit"],
    ["its response", JSON.stringify({ error: overRate, message: overRateMessage })],
  ];

  /** What the page shows while each of these texts is in the filter of the errors, which is cleared at last. */
  const filterErrors = memoize(async () => {
    const page = await open();
    const shown = new Map<string, { errors: string[]; contents: string[]; result: string | null }>();
    for (const text of [...filtersFor42901.map(([, text]) => text), "TOKEN 401", "copy", ""]) {
      await page.getByLabel("Filter the errors").fill(text);
      shown.set(text, {
        errors: await page.locator("article:visible").evaluateAll((all) => all.map(({ id }) => id)),
        contents: await page.locator("nav li li:visible").allTextContents(),
        result: await page.locator("#filter-result").textContent(),
      });
    }
    return shown;
  });

  test.each(filtersFor42901)("finds an error by %s", async (_, text) => {
    expect((await filterErrors()).get(text)?.errors).toEqual(["42901"]);
  });

  test("finds every error by every word that it shows", async () => {
    const page = await open();
    const missed = await page.evaluate<string[]>(`(() => {
      const filter = document.getElementById("filter-text");
      const shown = [...document.querySelectorAll("article")].map((article) => {
        const heading = article.parentElement.querySelector("h3");
        const copy = article.querySelector("button");
        const text = heading.innerText + " " + article.innerText.replace(copy.innerText, " ");
        return { article, words: text.split(/\\s+/) };
      });
      return shown.flatMap(({ article, words }) => words.filter((word) => {
        filter.value = word;
        filter.dispatchEvent(new Event("input"));
        return article.hidden;
      }));
    })()`);
    expect(missed).toEqual([]);
  });

  test("shows the errors that have all words of the filter", async () => {
    const shown = (await filterErrors()).get("TOKEN 401");
    expect(shown?.errors).toEqual(["40101", "40102"]);
    expect(shown?.result).toBe(`2 of ${publicKinds.length} errors match.`);
  });

  test("filters the contents with the errors", async () => {
    expect((await filterErrors()).get("TOKEN 401")?.contents).toEqual(["401 Unauthorized"]);
  });

  test("says that no errors match a word of the page that is in none of them", async () => {
    expect((await filterErrors()).get("copy")?.result).toBe("No errors match.");
  });

  test("shows every error again when the filter is cleared", async () => {
    expect((await filterErrors()).get("")?.errors).toHaveLength(publicKinds.length);
  });

  test("shows an error that a link leads to, although the filter hid it", async () => {
    const page = await open();
    await page.getByLabel("Filter the errors").fill("40101");
    await page.getByRole("link", { name: "40020", exact: true }).first().click();
    await page.locator("[id='40020']:visible").waitFor();
    expect(await page.getByLabel("Filter the errors").inputValue()).toBe("");
  });

  describe("without JavaScript", () => {
    const openWithoutScript = memoize(async () => {
      const page = await newPage({ javaScriptEnabled: false });
      await page.goto(`${service.url}/docs`);
      return page;
    });

    test("can be read", async () => {
      const page = await openWithoutScript();
      expect(await page.getByRole("heading", { name: "Errors" }).isVisible()).toBe(true);
      expect(await page.getByText(`curl ${service.url}/plants`).isVisible()).toBe(true);
      expect(await page.locator("noscript p").isVisible()).toBe(true);
    });

    test.each(["curl", "javascript", "python", "go"])("shows the sample in %s", async (language) => {
      const page = await openWithoutScript();
      expect(await page.locator(`#create-samples .${language}`).isVisible()).toBe(true);
    });

    test("has its samples in colours", async () => {
      const page = await openWithoutScript();
      expect(await coloured(page, "keyword", "#large-samples .python")).toEqual(["import"]);
    });

    test("offers nothing that needs it", async () => {
      const page = await openWithoutScript();
      expect(await page.getByRole("button").count()).toBe(0);
      expect(await page.getByLabel("Filter the errors").isVisible()).toBe(false);
    });
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

  const widthsPx = [360, 768, 1280, 2560];
  /** How wide the page is in a window of each width. */
  const measurePage = memoize(async () => {
    const page = await open();
    const measured = new Map<number, number>();
    for (const width of widthsPx) {
      await page.setViewportSize({ width, height: 900 });
      measured.set(width, await page.evaluate<number>("document.documentElement.scrollWidth"));
    }
    return measured;
  });

  // test/slow/docs-look.test.ts runs axe there.
  test.each(widthsPx)("fits into %d px", async (width) => {
    expect((await measurePage()).get(width)).toBeLessThanOrEqual(width);
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
