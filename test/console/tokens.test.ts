// The console's pages of the tokens and of the audit trail, in a browser.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { copiedBy, describe, test } from "../support/browser.ts";
import {
  signIn,
  textIn,
  useConsole,
  waitForHeading,
  waitForText,
  waitUntil,
} from "../support/console-session.ts";
import { mintToken } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { startTestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

const session = useConsole(10);
const { open } = session;

const focusedText = (page: Page) => page.evaluate<string>("document.activeElement.textContent.trim()");

async function statusWith(secret: string): Promise<number> {
  return (await post(session.service.url, '{"id":91,"name":"By robot"}', bearer(secret))).status;
}

/** Opens the dialog that creates one. */
async function openCreation() {
  const page = await open("/tokens");
  await page.getByRole("button", { name: "Create a token" }).click();
  const dialog = page.getByRole("dialog");
  const create = dialog.getByRole("button", { name: "Create token" });
  return { page, dialog, create, name: dialog.getByLabel("Name") };
}

/** Confirms the dialog in which a token is rotated or revoked, and which this button opens. */
async function confirm(page: Page, button: string, overlap?: string): Promise<void> {
  await page.getByRole("button", { name: button, exact: true }).click();
  const dialog = page.getByRole("dialog");
  if (overlap !== undefined) await dialog.getByLabel("The old secret stays valid for").selectOption(overlap);
  await dialog.getByRole("button", { name: /^(?:Rotate|Revoke)$/ }).click();
}

/** The secret of a new token, once it is shown. */
const shownSecret = (page: Page) => textIn(page, "pre.secret");

describe("a token", () => {
  test("is valid as soon as it is created, and its secret is in sight until it is confirmed", async () => {
    const { page, dialog, create, name } = await openCreation();
    await create.click();
    await dialog.getByRole("alert").getByText("Enter a name of 1 to 64 characters.").waitFor();
    await name.fill("created robot");
    await dialog.getByLabel("plants:create").uncheck();
    await create.click();
    await dialog.getByRole("alert").getByText("Choose at least one scope.").waitFor();
    await dialog.getByLabel("plants:create").check();
    await dialog.getByLabel("Expires").selectOption("90d");
    await create.click();
    const secret = await shownSecret(page);
    expect(secret).toMatch(/^pst_\w{49}$/);
    expect(await statusWith(secret)).toBe(200);
    for (const key of ["Enter", "Escape", "Escape", "Escape"]) await page.keyboard.press(key);
    expect(await shownSecret(page)).toBe(secret);
    expect(await focusedText(page)).toBe(secret);
    expect(await copiedBy(page.getByRole("button", { name: "Copy secret" }))).toBe(secret);
    await waitForText(page, "Copied");
    await dialog.getByRole("button", { name: "I have saved it" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await focusedText(page)).toBe("Create a token");
    const expiry = page.getByRole("row", { name: "created robot" }).locator(".validity time");
    await expiry.waitFor();
    // Exactly, for a pointer and for a screen reader.
    const exact = (await expiry.getAttribute("title")) ?? "";
    expect(exact).toMatch(/^\d\d? \w+ \d{4}, \d\d:\d\d:\d\d CES?T$/);
    expect(await expiry.ariaSnapshot()).toContain(`(${exact})`);
  });

  test("that is rotated stands under its successor until it expires or is revoked", async () => {
    const name = "greenhouse";
    const rotated = await mintToken(session.service, { name, scopes: ["plants:create"] });
    const page = await open("/tokens");
    await confirm(page, `Rotate ${name}`, "7d");
    const secret = await shownSecret(page);
    expect(await statusWith(secret)).toBe(200);
    expect(await statusWith(rotated.secret ?? "")).toBe(200);
    await page.getByRole("button", { name: "I have saved it" }).click();
    const old = page.locator(`tr:has-text("${name}") + tr.old`);
    await old.waitFor();
    expect(await old.locator("th").innerText()).toMatch(/old secret\n[0-9a-f]{8}$/);
    expect(await old.locator("code").textContent()).toBe(rotated.token.id);
    expect(await old.getByRole("button").allTextContents()).toEqual([`Revoke the old secret of ${name}`]);
    await confirm(page, `Revoke the old secret of ${name}`);
    await waitForText(page, `The token ${name} was revoked.`);
    await old.waitFor({ state: "detached" });
    expect(await statusWith(rotated.secret ?? "")).toBe(401);
    expect(await statusWith(secret)).toBe(200);
    expect(await page.locator(`tr.live:has-text("${name}")`).count()).toBe(1);
    await page.getByText(/^\d+ ended tokens?$/).click();
    await page.locator("tr.revoked", { hasText: name }).waitFor();
  });

  test("of the session itself is warned about before it is revoked, and shows its new secret", async () => {
    const { secret: own } = await mintToken(session.service, { name: "own", scopes: ["operator"] });
    const page = await open("/tokens", { token: own });
    await page.getByRole("button", { name: "Revoke own" }).click();
    await waitForText(page, "You are signed in with this token, and will be signed out.");
    await page.keyboard.press("Escape");
    await confirm(page, "Rotate own", "0s");
    const secret = await shownSecret(page);
    // Without an overlap, the old secret and the session end at once.
    await page.getByRole("heading", { name: "Plant Store", includeHidden: true }).waitFor();
    await page.getByRole("button", { name: "I have saved it" }).click();
    await signIn(page, secret);
    await waitForHeading(page, "Tokens");
  });
});

test("the page shows uses as they happen, and warns of revoking the last live operator token", async () => {
  await using service = await startTestService();
  const { secret } = await mintToken(service, { name: "only", scopes: ["operator"] });
  const { secret: used } = await mintToken(service, { name: "used" });
  const page = await open("/tokens", { origin: service.operatorUrl, token: secret });
  const row = page.getByRole("row", { name: "used" });
  await row.getByText("not used yet").waitFor();
  await post(service.url, "{}", bearer(used));
  await row.getByText("not used yet").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Revoke only" }).click();
  await waitForText(page, "It is the last live token with the scope “operator”.");
});

test("the audit trail says who did what to what, a page at a time, and has its filter in its address", async () => {
  const { token } = await mintToken(session.service, { name: "reader", scopes: ["metrics"] });
  await mintToken(session.service, { name: "newer" });
  const page = await open("/tokens");
  await page.route("**/api/audit*", (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set("limit", "1");
    return route.continue({ url: url.href });
  });
  await page.getByRole("link", { name: "Audit" }).click();
  const entries = page.locator(".audit tbody tr");
  await entries.filter({ hasText: "newer" }).waitFor();
  expect(await entries.count()).toBe(1);
  await page.getByRole("button", { name: "Show more" }).click();
  const row = entries.filter({ hasText: "reader" });
  await row.waitFor();
  expect(await entries.count()).toBe(2);
  const cells = row.locator("th, td:not(:first-child)");
  expect(await cells.allTextContents()).toEqual([
    "preset-operator",
    "Created a token",
    "reader",
    `${token.id}: metrics; never expires`,
    "127.0.0.1",
  ]);
  await page.locator(".filters summary").click();
  await page.getByLabel("Action").selectOption("Rotated a token");
  await page.getByLabel("By").fill("nobody");
  await page.getByLabel("Time").selectOption("From … before …");
  await page.getByLabel("Before", { exact: true }).fill("2026-01-15T09:30");
  await waitForText(page, "No entries match");
  const search = "?action=token.rotated&actor=nobody&until=2026-01-15T08%3A30%3A00.000Z";
  await waitUntil(async () => new URL(page.url()).search === search);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await entries.filter({ hasText: "newer" }).waitFor();
  expect(new URL(page.url()).search).toBe("");
});
