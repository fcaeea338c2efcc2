// The console's overview, and its page of refused requests, in a browser.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import packageFile from "../../package.json" with { type: "json" };
import { whyUnrecorded } from "../../src/storage/sqlite/data-file/last-backup.ts";
import { hourMs } from "../../src/text/duration.ts";
import { copiedBy, describe, test } from "../support/browser.ts";
import { start } from "../support/command.ts";
import { textIn, useConsole, waitForHeading, waitForText, waitUntil } from "../support/console-session.ts";
import { mintToken } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { startTestService } from "../support/test-service.ts";
import { accessToken, bearer, operatorToken } from "../support/tokens.ts";

const seeded = 1100;
const session = useConsole(seeded);
const { open } = session;

describe("the overview", () => {
  test("shows the state of the store, and what is new live", async () => {
    const page = await open("/");
    await waitForText(page, "All plants are on disk");
    await waitForText(page, "Disk space free");
    await waitForText(page, / left at this rate$/);
    await waitForText(page, `Version ${packageFile.version}`);
    const total = page.locator(".key-number-total .number > span");
    const count = async () => Number(((await total.textContent()) ?? "").replaceAll(",", ""));
    const before = await count();
    expect(before).toBeGreaterThanOrEqual(seeded);
    const backup = { atMs: Date.now() - 3 * hourMs, plants: 0, coveredPlants: 0, digest: null };
    expect(whyUnrecorded(session.service.database, backup)).toBeUndefined();
    await post(session.service.url, '{"id":500001,"name":"Counted live"}');
    await post(session.service.url, '{"name":"No id"}');
    await waitForText(page, "Last backup 3 hours ago");
    await waitForText(page, "40010 a required field is missing");
    await waitUntil(async () => (await count()) === before + 1);
    await page.getByRole("region", { name: "Latest plants" }).getByText("Counted live").waitFor();
  });

  test("leads to who was refused last, and to who got an error", async () => {
    await post(session.service.url, '{"name":"No id"}');
    const page = await open("/");
    const refused = page.getByRole("region", { name: "Refused" }).getByRole("listitem");
    await refused.getByRole("link", { name: "preset-access" }).first().click();
    await page.waitForURL(/\/refused\?token=preset-access$/);
    await page.goBack();
    await refused.getByRole("link", { name: "40010" }).click();
    await page.waitForURL(/\/refused\?error=40010$/);
    await page.getByRole("row", { name: "preset-access" }).waitFor();
  });

  test("charts the plants of a period", async () => {
    const page = await open("/");
    await page.locator(".plot").hover({ position: { x: 400, y: 100 } });
    expect(await textIn(page, ".chart-tip")).toMatch(/^\d\d:\d\d\d+ createdrefusals unknown$/);
    await page.getByRole("button", { name: "7 d" }).click();
    await waitForHeading(page, "Plants per hour");
    expect(await page.locator(".plot").getAttribute("aria-label")).toStartWith("In the last 7 days, 1,1");
    expect(await textIn(page, ".legend")).toMatch(/^Created 1,1\d\dRefused \d+ since the start/);
  });

  test("that crashes leaves the other pages usable", async () => {
    const page = await open("/tokens", { crashes: true });
    await waitForHeading(page, "Tokens");
    await page.route("**/api/overview", (route) => route.fulfill({ json: { total: "not a number" } }));
    await page.getByRole("link", { name: "Overview" }).click();
    await waitForText(page, "This page stopped working");
    await page.getByRole("link", { name: "Tokens" }).click();
    await waitForHeading(page, "Tokens");
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await waitForText(page, "This page stopped working");
    await page.unrouteAll();
    await page.getByRole("button", { name: "Reload" }).click();
    await waitForText(page, "All plants are on disk");
  });
});

test("an empty store shows how to create the first plant, and then that plant", async () => {
  await using empty = await startTestService();
  const page = await open("/plants", { origin: empty.operatorUrl, token: operatorToken });
  await waitForHeading(page, "No plants yet");
  await page.getByRole("link", { name: "Overview" }).click();
  await waitForText(page, "Ready for the first plant");
  expect(await page.locator(".key-number, .plot").count()).toBe(0);
  const command = await textIn(page, ".empty .code");
  const run = command.replace("YOUR_TOKEN", accessToken).replace("curl", "curl -s");
  const { out } = await start("sh", ["-c", run]).ended;
  expect(out).toBe('{"name":"Fern","tag":"indoor"}');
  await page.getByRole("region", { name: "Latest plants" }).getByText("Fern").waitFor();
  await waitForText(page, "All plants are on disk");
  await waitForText(page, "No backup yet");
});

/** A token with this name that was refused, and the id of that request. */
async function refuseToken(name: string): Promise<string> {
  const { secret } = await mintToken(session.service, { name, scopes: ["plants:create"] });
  const response = await post(session.service.url, "[]", bearer(secret));
  return response.headers.get("x-request-id") ?? "";
}

const allRows = (page: Page) => page.locator(".refusals tbody tr");
const rowOf = (page: Page, sender: string) => allRows(page).filter({ hasText: sender });
const waitForOneRow = (page: Page) => waitUntil(async () => (await allRows(page).count()) === 1);

describe("the page of refused requests", () => {
  test("shows who got which error, with its message, its entry in the docs and its request id", async () => {
    const requestId = await refuseToken("greenhouse");
    const page = await open("/refused");
    const row = rowOf(page, "greenhouse");
    await row.waitFor();
    expect(await row.textContent()).toMatch(/40004.*not an object.*1 time.*but is an array/);
    await page.evaluate(`navigator.clipboard.writeText = () => {
      delete navigator.clipboard.writeText;
      return Promise.reject(new Error());
    }`);
    const copy = row.getByRole("button", { name: "Copy request id" });
    await copy.click();
    await row.getByRole("button", { name: "Could not copy" }).waitFor();
    await copy.waitFor();
    expect(await copiedBy(copy)).toBe(requestId);
    await row.getByRole("button", { name: "Copied" }).waitFor();
    await row.getByRole("link", { name: "40004" }).click();
    expect(page.url()).toBe(`${session.service.url}/docs#40004`);
    expect(await page.locator("article:target h4").textContent()).toStartWith("40004");
  });

  test("is filtered by error and by token, in its address", async () => {
    await refuseToken("filtered & searched");
    await fetch(`${session.service.url}/plants`, { method: "POST" });
    const page = await open("/refused");
    await page.getByLabel("Error").selectOption({ label: "40101 the request has no bearer token" });
    await waitForOneRow(page);
    expect(page.url()).toEndWith("/refused?error=40101");
    await page.getByLabel("Token or address").selectOption("filtered & searched");
    await waitForText(page, "No refusals match");
    await page.getByLabel("Error").selectOption("All errors");
    await waitForOneRow(page);
    expect(new URL(page.url()).search).toBe("?token=filtered+%26+searched");
    await page.reload();
    await waitForOneRow(page);
    await page.getByLabel("Error").selectOption("40101");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await waitUntil(async () => (await allRows(page).count()) > 1);
    expect(page.url()).toEndWith("/refused");
  });
});
