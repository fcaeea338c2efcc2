import type { Browser, Page } from "playwright-core";
import { newPage } from "./browser.ts";
import { accessToken } from "./harness.ts";

/** Opens the docs page of a service, and collects its errors and its requests to other hosts. */
export async function openDocs(
  browser: Browser,
  url: string,
  { dark = false, width = 1280 } = {},
): Promise<{ page: Page; pageErrors: string[] }> {
  const colorScheme = dark ? "dark" : "light";
  const page = await newPage(browser, { colorScheme, viewport: { width, height: 900 } });
  const pageErrors: string[] = [];
  page.on("console", (message) => message.type() === "error" && pageErrors.push(message.text()));
  page.on("pageerror", (error) => pageErrors.push(String(error)));
  page.on("request", (request) => {
    const isOwn = request.url().startsWith(url) || request.url().startsWith("data:");
    if (!isOwn) pageErrors.push(`request to ${request.url()}`);
  });
  await page.goto(`${url}/docs`);
  return { page, pageErrors };
}

/** Fills in the form, sends it, and returns the response that the page shows. */
export async function sendPlant(
  page: Page,
  { id, name = "Fern", tag = "", token = accessToken }: Record<string, string>,
): Promise<string> {
  await page.getByLabel("Access token").fill(token);
  await page.getByLabel("id", { exact: true }).fill(id ?? "");
  await page.getByLabel("name", { exact: true }).fill(name);
  await page.getByLabel("tag").fill(tag);
  await page.getByRole("button", { name: "Send plant" }).click();
  await page.locator("#response .status").waitFor();
  await page.getByRole("button", { name: "Send plant", disabled: false }).waitFor();
  return (await page.locator("#response").textContent()) ?? "";
}
