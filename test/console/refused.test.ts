// The console's page of refused requests, in a browser.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import type { RefusalsJson } from "../../src/operator/responses.ts";
import { copiedBy, describe, test } from "../support/browser.ts";
import { useConsole, waitForText, waitUntil } from "../support/console-session.ts";
import { mintToken } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { bearer } from "../support/tokens.ts";

const session = useConsole(1);
const { open } = session;

/** A token with this name that was refused, and the id of that request. */
async function refuseToken(name: string, headers: Record<string, string> = {}): Promise<string> {
  const { secret } = await mintToken(session.service, { name, scopes: ["plants:create"] });
  const response = await post(session.service.url, "[]", { ...bearer(secret), ...headers });
  return response.headers.get("x-request-id") ?? "";
}

const allRows = (page: Page) => page.locator(".refusals tbody tr");
const rowOf = (page: Page, sender: string) => allRows(page).filter({ hasText: sender });
const waitForOneRow = (page: Page) => waitUntil(async () => (await allRows(page).count()) === 1);
const sendersIn = (page: Page) => page.locator(".refusals td:nth-child(2)").allTextContents();

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

  test("offers no copy of a request id that is masked", async () => {
    await refuseToken("with a UUID", { "X-Request-Id": crypto.randomUUID() });
    const page = await open("/refused");
    const row = rowOf(page, "with a UUID");
    await row.getByText("[masked]").waitFor();
    expect(await row.getByRole("button").count()).toBe(0);
  });

  test("offers no sender to filter by of whom nothing is known", async () => {
    await refuseToken("known");
    const page = await open("/tokens");
    await page.route("**/api/refusals", async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as RefusalsJson;
      const refusals = body.refusals.map((refusal) => ({ ...refusal, token: "", address: "" }));
      await route.fulfill({ response, json: { ...body, refusals } });
    });
    await page.getByRole("link", { name: "Refused" }).click();
    await rowOf(page, "unknown address").first().waitFor();
    const options = await page.getByLabel("Token or address").getByRole("option").allTextContents();
    expect(options).toEqual(["All senders"]);
  });

  test("shows a new refusal by itself, unless someone points at the table", async () => {
    await refuseToken("early");
    const page = await open("/refused");
    await rowOf(page, "early").waitFor();
    await refuseToken("late");
    await rowOf(page, "late").waitFor();
    const before = await sendersIn(page);
    expect(before[0]).toContain("late");
    await rowOf(page, "early").hover();
    await refuseToken("meanwhile");
    const loaded = () => page.waitForResponse("**/api/refusals");
    await loaded();
    await loaded();
    expect(await sendersIn(page)).toEqual(before);
    await page.mouse.move(0, 0);
    await rowOf(page, "meanwhile").waitFor();
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
