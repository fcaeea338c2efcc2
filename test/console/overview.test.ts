// The console's overview, and its page of refused requests, in a browser.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { whyUnrecorded } from "../../src/storage/sqlite/data-file/last-backup.ts";
import { hourMs } from "../../src/text/duration.ts";
import { describe, test } from "../support/browser.ts";
import { start } from "../support/command.ts";
import { textIn, useConsole, waitForHeading, waitForText, waitUntil } from "../support/console-session.ts";
import { mintToken } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { startTestService } from "../support/test-service.ts";
import { accessToken, bearer, operatorToken } from "../support/tokens.ts";

const seeded = 1100;
const session = useConsole(seeded);
const { open } = session;

const tile = (page: Page, name: string) => page.getByRole("region", { name, exact: true }).locator(".number");
const senders = (page: Page) => page.getByRole("table", { name: "Senders" });

describe("the overview", () => {
  test("shows the state of the store, and live what is new or refused", async () => {
    const page = await open("/");
    await waitForText(page, "All plants are on disk.");
    await waitForText(page, / left at this rate$/);
    const count = async () =>
      Number.parseInt(((await tile(page, "Plants stored").textContent()) ?? "").replaceAll(",", ""), 10);
    const before = await count();
    expect(before).toBeGreaterThanOrEqual(seeded);
    const backup = { atMs: Date.now() - 3 * hourMs, plants: 0, coveredPlants: 0, digest: null };
    expect(whyUnrecorded(session.service.database, backup)).toBeUndefined();
    await post(session.service.url, '{"id":500001,"name":"Counted live"}');
    await tile(page, "Last backup").getByText("3 hours ago").waitFor();
    await waitUntil(async () => (await count()) === before + 1);
    await page.getByRole("region", { name: "Latest plants" }).getByText("Counted live").waitFor();
    const refusedPerMinute = async () =>
      Number(await tile(page, "Refused per minute").locator("> span").textContent());
    const refusedBefore = await refusedPerMinute();
    await post(session.service.url, '{"name":"No id"}');
    await waitUntil(async () => (await refusedPerMinute()) > refusedBefore);
    await page.locator(".plot").hover({ position: { x: 400, y: 100 } });
    expect(await textIn(page, ".chart-tip")).toMatch(/^\d\d:\d\d\d+ createdrefusals unknown$/);
    await page.getByRole("button", { name: "7 d" }).click();
    await waitForHeading(page, "Plants per hour");
    expect(await page.locator(".plot").getAttribute("aria-label")).toStartWith("In the last 7 days, 1,1");
    expect(await textIn(page, ".legend")).toMatch(/^Created 1,1\d\dRefused \d+ since the start/);
  });

  test("says who sends, who has sent nothing, and who is refused, and leads to why", async () => {
    const { secret } = await mintToken(session.service, { name: "terrace" });
    await mintToken(session.service, { name: "silent" });
    await post(session.service.url, '{"id":500002,"name":"From the terrace"}', bearer(secret));
    await post(session.service.url, "[]", bearer(secret));
    const page = await open("/");
    const row = senders(page).getByRole("row", { name: "terrace" });
    expect(await row.innerText()).toMatch(/^terrace\s+(?:just now|\d+ \w+ ago).*\s1 last /s);
    await senders(page).getByRole("row", { name: "silent not used yet" }).waitFor();
    await row.getByRole("link", { name: "1", exact: true }).click();
    await page.waitForURL(/\/refused\?token=terrace$/);
    await rowOf(page, "terrace").getByText("The body must be a JSON object").waitFor();
    await page.goBack();
    await row.getByRole("link", { name: "terrace" }).click();
    await waitForText(page, "From the terrace");
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
    await waitForText(page, "All plants are on disk.");
  });
});

test("an empty store shows how to create the first plant, and then that plant", async () => {
  await using empty = await startTestService();
  const page = await open("/plants", { origin: empty.operatorUrl, token: operatorToken });
  await waitForHeading(page, "No plants yet");
  await page.getByRole("link", { name: "Overview" }).click();
  await waitForText(page, "Ready for the first plant.");
  expect(await page.locator(".key-number, .plot").count()).toBe(0);
  const command = await textIn(page, ".empty .code");
  const run = command.replace("YOUR_TOKEN", accessToken).replace("curl", "curl -s");
  const { out } = await start("sh", ["-c", run]).ended;
  expect(out).toBe('{"name":"Fern","tag":"indoor"}');
  await page.getByRole("region", { name: "Latest plants" }).getByText("Fern").waitFor();
  await waitForText(page, "All plants are on disk.");
  await tile(page, "Last backup").getByText("none yet").waitFor();
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
    await row.locator("code").click();
    expect(await page.evaluate<string>("String(getSelection())")).toBe(requestId);
    await row.getByRole("link", { name: "Docs of 40004" }).click();
    expect(page.url()).toBe(`${session.service.url}/docs#40004`);
    expect(await page.locator("article:target h4").textContent()).toStartWith("40004");
  });

  test("is filtered by its errors and senders, in its address", async () => {
    await refuseToken("filtered & searched");
    await fetch(`${session.service.url}/plants`, { method: "POST" });
    const page = await open("/refused");
    await waitForText(page, /^Refused since \d\d:\d\d, by error and sender\.$/);
    await page.getByRole("link", { name: "40101", exact: true }).click();
    await waitForOneRow(page);
    expect(page.url()).toEndWith("/refused?error=40101");
    await page.getByRole("link", { name: "Show all" }).click();
    await page.getByRole("link", { name: "filtered & searched" }).click();
    await waitForOneRow(page);
    expect(new URL(page.url()).search).toBe("?token=filtered+%26+searched");
    await page.reload();
    await waitForOneRow(page);
    await page.goto(`${page.url()}&error=40101`);
    await waitForText(page, "No refusals match");
    await waitForText(page, "Only filtered & searched and 40101.");
    await page.getByRole("link", { name: "Show all" }).click();
    await waitUntil(async () => (await allRows(page).count()) > 1);
    expect(page.url()).toEndWith("/refused");
  });
});
