import { afterAll, beforeAll, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import axe, { type AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { name as clientName } from "../packages/client/package.json" with { type: "json" };
import { catalogue, publicKinds } from "../src/http/error-catalogue.ts";
import { browserMissing, describe, newPage, openBrowser, secretField, test } from "./browser.ts";
import {
  accessToken,
  post,
  sendRaw,
  startTestService,
  storedPlants,
  type TestService,
  temporaryFolder,
} from "./harness.ts";

let running: TestService;
let browser: Browser;
beforeAll(async () => {
  if (browserMissing) return;
  running = await startTestService();
  browser = await openBrowser();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await running?.[Symbol.asyncDispose]();
});

async function openDocs(
  options: { dark?: boolean; width?: number } = {},
): Promise<{ page: Page; pageErrors: string[] }> {
  const page = await newPage(browser, {
    colorScheme: options.dark ? "dark" : "light",
    viewport: { width: options.width ?? 1280, height: 900 },
  });
  const pageErrors: string[] = [];
  page.on("console", (message) => message.type() === "error" && pageErrors.push(message.text()));
  page.on("pageerror", (error) => pageErrors.push(String(error)));
  page.on(
    "request",
    (request) =>
      request.url().startsWith(running.url) ||
      request.url().startsWith("data:") ||
      pageErrors.push(`request to ${request.url()}`),
  );
  await page.goto(`${running.url}/docs`);
  return { page, pageErrors };
}

async function send(
  page: Page,
  plant: { id: string; name?: string; tag?: string; token?: string },
): Promise<string> {
  await page.getByLabel("Access token").fill(plant.token ?? accessToken);
  await page.getByLabel("id", { exact: true }).fill(plant.id);
  await page.getByLabel("name", { exact: true }).fill(plant.name ?? "Fern");
  await page.getByLabel("tag").fill(plant.tag ?? "");
  await page.getByRole("button", { name: "Send plant" }).click();
  const status = page.locator("#response .status");
  await status.waitFor();
  await page.getByRole("button", { name: "Send plant", disabled: false }).waitFor();
  return (await page.locator("#response").textContent()) ?? "";
}

describe("the docs page", () => {
  test("hides the token, and does not let the browser save it", async () => {
    const { page } = await openDocs();
    expect(await secretField(page, "Access token")).toEqual({
      type: "text",
      autocomplete: "off",
      shown: "disc",
    });
  });

  test("leads back to the console, if that opened it", async () => {
    const { page } = await openDocs();
    const back = page.getByRole("button", { name: "Back to the console" });
    expect(await back.count()).toBe(0);
    await page.goto(`${running.operatorUrl}/system`);
    await page.goto(`${running.url}/docs#from-console`);
    await page.evaluate("location.hash = 'fields'");
    await back.click();
    await page.waitForURL(`${running.operatorUrl}/system`);
  });

  test("has a list of contents that names each section, and each status of the errors", async () => {
    const { page } = await openDocs();
    const contents = page.getByRole("navigation", { name: "Contents" });
    const hrefs = await contents
      .getByRole("link")
      .evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    const headings = await page
      .locator("main h2, main h3[id]")
      .evaluateAll((all) => all.map(({ id }) => `#${id}`));
    expect(hrefs).toEqual(headings);
    for (const section of ["authentication", "retrying", "headers", "errors"])
      expect(hrefs).toContain(`#${section}`);
    const statuses = new Set(publicKinds.map((kind) => String(catalogue[kind].error).slice(0, 3)));
    expect(hrefs.filter((href) => href?.startsWith("#status-"))).toEqual(
      [...statuses].sort().map((status) => `#status-${status}`),
    );
  });

  test("has a link to each error, under its status, with a response as an example", async () => {
    const { page } = await openDocs();
    const groups = await page.locator("section.status").all();
    const shown: [string, number, string][] = [];
    for (const group of groups) {
      const status = (await group.getByRole("heading", { level: 3 }).textContent()) ?? "";
      for (const error of await group.locator("article").all()) {
        const { error: number, message } = JSON.parse((await error.locator("pre").textContent()) ?? "");
        expect(await error.getAttribute("id")).toBe(String(number));
        expect(await error.getByRole("link").first().getAttribute("href")).toBe(`#${number}`);
        shown.push([status.slice(0, 3), number, message]);
      }
    }
    const known = publicKinds.map((kind) => catalogue[kind]).sort((a, b) => a.error - b.error);
    expect(shown).toEqual(known.map(({ error, example }) => [String(error).slice(0, 3), error, example]));
    await page.goto(`${running.url}/docs#40020`);
    expect(await page.locator(":target").textContent()).toContain("already belongs to a different plant");
  });

  test("shows the responses that the service sends", async () => {
    const plant = '{"id": 1, "name": "Fern", "tag": "indoor"}';
    await using limited = await startTestService({ "rate-limit": "1/m" });
    await post(running.url, plant);
    await post(limited.url, plant);
    const { page } = await openDocs();
    for (const [example, port, token] of [
      ["replayed", running.port, accessToken],
      ["over-rate", limited.port, accessToken],
      ["refused", running.port, "unknown-token-0123456789"],
    ] as const) {
      const headers = `Authorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${plant.length}`;
      const request = `POST /plants HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n${plant}`;
      const { text } = await sendRaw(port, [request]);
      // These differ each time.
      const stable = (response: string) =>
        response
          .replaceAll("\r", "")
          .replaceAll(/^(Date|X-Request-Id|Retry-After): .+$/gm, "$1: …")
          .replace(/in \d+ s/, "in … s")
          .replace(/^Content-Length: .+$/m, "Content-Length: …");
      const shown = (await page.locator(`#example-${example}`).textContent()) ?? "";
      expect(stable(shown)).toBe(stable(text));
      expect(shown).toContain(`Content-Length: ${shown.split("\n\n")[1]?.length}\n`);
    }
  });

  test("names the client library as its package does", async () => {
    const { page } = await openDocs();
    const text = (await page.locator("main").textContent()) ?? "";
    expect(text).toContain(`from "${clientName}"`);
    expect(text).not.toContain("plant-store/client");
  });

  test("can be read without JavaScript, and offers nothing then that needs it", async () => {
    const page = await newPage(browser, { javaScriptEnabled: false });
    await page.goto(`${running.url}/docs`);
    expect(await page.getByRole("heading", { name: "Errors" }).isVisible()).toBe(true);
    expect(await page.getByText(`curl ${running.url}/plants`).isVisible()).toBe(true);
    expect(await page.locator("noscript p").isVisible()).toBe(true);
    expect(await page.getByRole("button").count()).toBe(0);
  });

  test("works under a base URL with a path", async () => {
    const url = "https://example.org/garden/v1";
    await using moved = await startTestService({ "base-url": url });
    const page = await newPage(browser);
    await page.goto(`http://${moved.service.addresses[0]}/garden/v1/docs`);
    expect(await page.locator("#command").textContent()).toContain(`curl ${url}/plants`);
    expect(await send(page, { id: "1" })).toContain("200 OK");
    await page.locator("h4").getByRole("link", { name: "40020" }).click();
    await page.getByRole("link", { name: "OpenAPI 3.1" }).click();
    expect(new URL(page.url()).pathname).toBe("/garden/v1/openapi.json");
  });

  test("sends a plant whose id no double can represent, and it is stored exactly", async () => {
    const { page, pageErrors } = await openDocs();
    const response = await send(page, { id: "9007199254740993", name: 'O\'Fern "quoted" 🌱', tag: "indoor" });
    expect(response).toContain("200 OK");
    expect(response).toContain('{"name":"O\'Fern \\"quoted\\" 🌱","tag":"indoor"}');
    expect(storedPlants(running.database).find(({ id }) => id === 9007199254740993n)).toMatchObject({
      name: 'O\'Fern "quoted" 🌱',
      tag: "indoor",
    });
    expect(pageErrors).toEqual([]);
  }, 30_000);

  test("shows a command that works in a shell", async () => {
    const { page } = await openDocs();
    await page.getByLabel("id", { exact: true }).fill("-9223372036854775808");
    await page.getByLabel("name", { exact: true }).fill("It's $HOME");
    const command = (await page.locator("#command").textContent()) ?? "";
    const shell = Bun.spawn([
      "sh",
      "-c",
      command.replace("<ACCESS_TOKEN>", accessToken).replace("curl ", "curl -s "),
    ]);
    expect(await new Response(shell.stdout).text()).toBe('{"name":"It\'s $HOME"}');
  }, 30_000);

  test("shows complete programs with the reader's token, which is hidden on the screen", async () => {
    const { page, pageErrors } = await openDocs();
    await page.getByLabel("Access token").fill(accessToken);
    await page.getByLabel("name", { exact: true }).fill('O\'Fern "quoted" \\ `$x` 🌱');
    using folder = temporaryFolder();
    const programs = [
      { language: "curl", file: "run.sh", run: ["sh"] },
      { language: "JavaScript", file: "run.mjs", run: [process.execPath] },
      { language: "Python", file: "run.py", run: ["python3"] },
      { language: "Go", file: "run.go", run: ["go", "vet"] },
    ];
    for (const [index, { language, file, run }] of programs.entries()) {
      const id = 9107199254740993n + BigInt(index);
      await page.getByLabel("id", { exact: true }).fill(String(id));
      await page.getByRole("button", { name: language }).click();
      const program = (await page.locator("#command").textContent()) ?? "";
      expect(program).toContain(`Bearer ${accessToken}`);
      expect(program).toContain(`${running.url}/plants`);
      // The language is not installed everywhere.
      if (Bun.which(run[0] ?? "") === null) continue;
      writeFileSync(join(folder.path, file), program);
      const child = Bun.spawn([...run, file], { cwd: folder.path, stderr: "pipe" });
      const [printed, errors] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      // The progress that curl prints is not an error.
      expect([await child.exited, language === "curl" ? "" : errors]).toEqual([0, ""]);
      if (language === "Go") continue;
      expect(printed).toContain('{"name":"O\'Fern \\"quoted\\" \\\\ `$x` 🌱"}');
      expect(storedPlants(running.database).some((plant) => plant.id === id)).toBe(true);
    }
    expect(await page.locator("#command .secret").textContent()).toBe(accessToken);
    expect(await page.evaluate("sessionStorage.length + localStorage.length")).toBe(0);
    expect(await page.locator("#large").textContent()).toBe("Ids beyond 253");
    expect(pageErrors).toEqual([]);
  }, 60_000);

  test("shows an error with its message and a link to it, and marks a replay", async () => {
    const { page } = await openDocs();
    expect(await send(page, { id: "12x" })).toContain("40011");
    await page.getByRole("link", { name: "What to do about 40011" }).click();
    expect(await page.locator(":target").getAttribute("id")).toBe("40011");
    expect(await send(page, { id: "7", token: "not-a-token-that-is-known" })).toContain("40102");
    expect(await send(page, { id: "7" })).toContain("200 OK");
    expect(await send(page, { id: "7" })).toContain("idempotent-replayed: true");
  }, 30_000);

  test("can be used with the keyboard only", async () => {
    const { page } = await openDocs();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/docs#content");
    for (let presses = 0; (await page.evaluate("document.activeElement.id")) !== "token"; presses++) {
      expect(presses).toBeLessThan(40);
      await page.keyboard.press("Tab");
    }
    for (const text of [accessToken, "77", "Typed", "by hand"]) {
      await page.keyboard.press("Control+A");
      await page.keyboard.type(text);
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await page.locator("#response .status").waitFor();
    expect(storedPlants(running.database).find(({ id }) => id === 77n)).toMatchObject({
      name: "Typed",
      tag: "by hand",
    });
  }, 30_000);

  for (const width of [360, 768, 1440, 2560]) {
    for (const dark of [false, true]) {
      test(`fits a ${width} px screen in the ${dark ? "dark" : "light"} theme`, async () => {
        const { page, pageErrors } = await openDocs({ width, dark });
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
        expect(pageErrors).toEqual([]);
        await page.evaluate(axe.source);
        const { violations } = (await page.evaluate("axe.run()")) as AxeResults;
        expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
      }, 120_000);
    }
  }
});
