import { afterAll, beforeAll, expect } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { browserMissing, describe, openBrowser, test } from "./browser.ts";
import { accessToken, startTestService, storedPlants, type TestService } from "./harness.ts";

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
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({
    colorScheme: options.dark ? "dark" : "light",
    viewport: { width: options.width ?? 1280, height: 900 },
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on(
    "request",
    (request) =>
      request.url().startsWith(running.url) ||
      request.url().startsWith("data:") ||
      complaints.push(`asked ${request.url()}`),
  );
  await page.goto(`${running.url}/docs`);
  return { page, complaints };
}

async function send(
  page: Page,
  plant: { id: string; name?: string; tag?: string; token?: string },
): Promise<string> {
  await page.getByLabel("Access token").fill(plant.token ?? accessToken);
  await page.getByLabel("id", { exact: true }).fill(plant.id);
  await page.getByLabel("name", { exact: true }).fill(plant.name ?? "Fern");
  await page.getByLabel("tag").fill(plant.tag ?? "");
  await page.getByRole("button", { name: "Send the plant" }).click();
  const status = page.locator("#answer .status");
  await status.waitFor();
  await page.getByRole("button", { name: "Send the plant", disabled: false }).waitFor();
  return (await page.locator("#answer").textContent()) ?? "";
}

describe("the docs page", () => {
  test("sends a plant whose id no double can hold, and the file has it exactly", async () => {
    const { page, complaints } = await openDocs();
    const answer = await send(page, { id: "9007199254740993", name: 'O\'Fern "quoted" 🌱', tag: "indoor" });
    expect(answer).toContain("200 OK");
    expect(answer).toContain('{"name":"O\'Fern \\"quoted\\" 🌱","tag":"indoor"}');
    expect(storedPlants(running.database)).toMatchObject([
      { id: 9007199254740993n, name: 'O\'Fern "quoted" 🌱', tag: "indoor" },
    ]);
    expect(complaints).toEqual([]);
  }, 30_000);

  test("shows a request that works when it is pasted into a shell", async () => {
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

  test("shows an error with its message, and a replay for what it is", async () => {
    const { page } = await openDocs();
    expect(await send(page, { id: "12x" })).toContain("40011");
    expect(await send(page, { id: "7", token: "not-a-token-that-is-known" })).toContain("40102");
    expect(await send(page, { id: "7" })).toContain("200 OK");
    expect(await send(page, { id: "7" })).toContain("idempotent-replayed: true");
  }, 30_000);

  test("can be used by keyboard alone", async () => {
    const { page } = await openDocs();
    for (const text of [accessToken, "77", "Typed", "by hand"]) {
      await page.keyboard.press("Tab");
      await page.keyboard.press("Control+A");
      await page.keyboard.type(text);
    }
    await page.keyboard.press("Enter");
    await page.locator("#answer .status").waitFor();
    expect(storedPlants(running.database).find(({ id }) => id === 77n)).toMatchObject({
      name: "Typed",
      tag: "by hand",
    });
  }, 30_000);

  for (const width of [360, 768, 1600]) {
    for (const dark of [false, true]) {
      test(`fits a screen of ${width} in ${dark ? "dark" : "light"}`, async () => {
        const { page, complaints } = await openDocs({ width, dark });
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
        expect(complaints).toEqual([]);
      }, 30_000);
    }
  }
});
