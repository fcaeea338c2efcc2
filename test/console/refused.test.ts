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
async function refuseToken(name: string): Promise<string> {
  const { secret } = await mintToken(session.service, { name, scopes: ["plants:create"] });
  const response = await post(session.service.url, "[]", bearer(secret));
  return response.headers.get("x-request-id") ?? "";
}

/** Opens the page, with the pointer away from the table. */
async function openRefused(query = ""): Promise<Page> {
  const page = await open(`/refused${query}`);
  await page.mouse.move(0, 0);
  return page;
}

const rowOf = (page: Page, sender: string) => page.locator(".refusals tbody tr", { hasText: sender });
const sendersIn = (page: Page) => page.locator(".refusals td:nth-child(2)").allTextContents();

describe("the page of refused requests", () => {
  test("shows who got which error, with its message", async () => {
    await refuseToken("greenhouse");
    const page = await openRefused();
    const row = rowOf(page, "greenhouse");
    await row.waitFor();
    expect(await row.textContent()).toMatch(/40004.*not an object.*1 time.*but is an array/);
  });

  test("offers all senders beside one whose address is not known", async () => {
    await refuseToken("known");
    const page = await open("/refused");
    await page.route("**/api/refusals", async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as RefusalsJson;
      const refusals = body.refusals.map((refusal) => ({ ...refusal, token: "", address: "" }));
      await route.fulfill({ response, json: { ...body, refusals } });
    });
    await page.reload();
    await page.locator(".refusals tbody tr", { hasText: "unknown address" }).first().waitFor();
    const options = await page.getByLabel("Token or address").getByRole("option").allTextContents();
    expect(options).toEqual(["All senders"]);
  });

  test("links each error to its entry on the docs page", async () => {
    await refuseToken("reader of docs");
    const page = await openRefused();
    const link = rowOf(page, "reader of docs").getByRole("link", { name: "40004" });
    await link.click();
    expect(page.url()).toBe(`${session.service.url}/docs#40004`);
    expect(await page.locator("article:target h4").textContent()).toStartWith("40004");
  });

  test("copies a request id", async () => {
    const requestId = await refuseToken("copied");
    const page = await openRefused();
    const row = rowOf(page, "copied");
    expect(await copiedBy(row.getByRole("button", { name: "Copy request id" }))).toBe(requestId);
    await row.getByRole("button", { name: "Copied" }).waitFor();
  });

  test("offers the copy again after one that failed", async () => {
    await refuseToken("clipboard failed");
    const page = await openRefused();
    await page.evaluate(`navigator.clipboard.writeText = () => {
      delete navigator.clipboard.writeText;
      return Promise.reject(new Error());
    }`);
    const row = rowOf(page, "clipboard failed");
    await row.getByRole("button", { name: "Copy request id" }).click();
    await row.getByRole("button", { name: "Could not copy" }).waitFor();
    await row.getByRole("button", { name: "Copy request id" }).waitFor();
  });

  test("offers no copy of a request id that is masked", async () => {
    const { secret } = await mintToken(session.service, { name: "with a UUID", scopes: ["plants:create"] });
    const headers = { ...bearer(secret), "X-Request-Id": crypto.randomUUID() };
    await post(session.service.url, "[]", headers);
    const page = await openRefused();
    const row = rowOf(page, "with a UUID");
    await row.getByText("[masked]").waitFor();
    expect(await row.getByRole("button").count()).toBe(0);
  });

  test("shows a new refusal by itself", async () => {
    await refuseToken("early");
    const page = await openRefused();
    await rowOf(page, "early").waitFor();
    await refuseToken("late");
    await rowOf(page, "late").waitFor();
    expect((await sendersIn(page))[0]).toContain("late");
  });

  test("moves nothing while someone points at it", async () => {
    await refuseToken("pointed at");
    const page = await openRefused();
    await rowOf(page, "pointed at").hover();
    const before = await sendersIn(page);
    await refuseToken("meanwhile");
    const loaded = () => page.waitForResponse("**/api/refusals");
    await loaded();
    await loaded();
    expect(await sendersIn(page)).toEqual(before);
    await page.mouse.move(0, 0);
    await rowOf(page, "meanwhile").waitFor();
  });

  test("is filtered by error", async () => {
    await refuseToken("filtered by error");
    await fetch(`${session.service.url}/plants`, { method: "POST" });
    const page = await openRefused();
    await page.getByLabel("Error").selectOption({ label: "40101 the request has no bearer token" });
    await waitUntil(async () => (await page.locator(".refusals tbody tr").count()) === 1);
    expect(page.url()).toEndWith("/refused?error=40101");
  });

  test("is filtered by token", async () => {
    await refuseToken("filtered & searched");
    const page = await openRefused();
    await page.getByLabel("Token or address").selectOption("filtered & searched");
    await waitUntil(async () => (await page.locator(".refusals tbody tr").count()) === 1);
    expect(new URL(page.url()).searchParams.get("token")).toBe("filtered & searched");
    await page.reload();
    await page.locator(".refusals tbody tr").waitFor();
    expect(await page.locator(".refusals tbody tr").count()).toBe(1);
  });

  test("says that nothing matches", async () => {
    await refuseToken("without a match");
    const page = await openRefused("?error=41301");
    await waitForText(page, "No refusals match");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await rowOf(page, "without a match").waitFor();
  });

  test("is linked from the overview, by error", async () => {
    await refuseToken("from the overview");
    const page = await open("/");
    await page.getByRole("link", { name: "40004" }).click();
    await rowOf(page, "from the overview").waitFor();
    expect(page.url()).toEndWith("/refused?error=40004");
  });

  test("is not offered to a token that only reads", async () => {
    await refuseToken("unseen");
    const { secret } = await mintToken(session.service, { name: "only reads", scopes: ["operator:read"] });
    const page = await open("/", { token: secret });
    await waitForText(page, "40004");
    expect(await page.getByRole("link", { name: /40004|See who|Refused/ }).count()).toBe(0);
  });
});
