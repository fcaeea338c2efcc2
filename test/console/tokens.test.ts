// The console's pages of the tokens and of the audit trail, in a browser.
import { expect } from "bun:test";
import type { Locator, Page } from "playwright-core";
import type { AuditEntryJson } from "../../src/operator/responses.ts";
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
import { bearer } from "../support/tokens.ts";

const session = useConsole(10);
const { open } = session;

const focusedText = (page: Page) => page.evaluate<string>("document.activeElement.textContent.trim()");
const isFocused = (element: Locator) => element.evaluate((node) => node.ownerDocument.activeElement === node);

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
    await dialog.getByText("Enter a name of 1 to 64 characters.").waitFor();
    expect(await name.getAttribute("aria-invalid")).toBe("true");
    expect(await isFocused(name)).toBe(true);
    await name.fill("created robot");
    await dialog.getByLabel("plants:create").uncheck();
    await create.click();
    await dialog.locator("fieldset").getByText("Choose at least one scope.").waitFor();
    expect(await isFocused(dialog.getByLabel("plants:create"))).toBe(true);
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
    expect(await old.locator("th").innerText()).toMatch(
      /old secret, valid until \d+ \w+, \d\d:\d\d\n[0-9a-f]{8}$/,
    );
    expect(await old.locator("code").textContent()).toBe(rotated.token.id);
    expect(await old.getByRole("button").allTextContents()).toEqual([`Revoke the old secret of ${name}`]);
    await confirm(page, `Revoke the old secret of ${name}`);
    await waitForText(page, `The token ${name} was revoked.`);
    await old.waitFor({ state: "detached" });
    expect(await statusWith(rotated.secret ?? "")).toBe(401);
    expect(await statusWith(secret)).toBe(200);
    expect(await page.locator(`tr.live:has-text("${name}")`).count()).toBe(1);
    await page.locator("tr.revoked", { hasText: name }).waitFor();
  });

  test("of the session itself is warned about before it is revoked, and shows its new secret", async () => {
    const { secret: own } = await mintToken(session.service, { name: "own", scopes: ["operator"] });
    const page = await open("/tokens", { token: own });
    await page.getByRole("button", { name: "Revoke own" }).click();
    await waitForText(page, "If you are signed in with this token");
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

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const searchIn = (page: Page) => new URL(page.url()).search;

describe("the audit trail", () => {
  test("says what was done, and opens the entry as JSON by the keyboard", async () => {
    const { token } = await mintToken(session.service, { name: "reader", scopes: ["metrics"] });
    const page = await open("/audit?action=token.created");
    const row = page.locator("tr", { hasText: "created token reader with metrics; it never expires" });
    await row.locator("summary").focus();
    await page.keyboard.press("Enter");
    const entry = JSON.parse((await row.locator("pre").textContent()) ?? "") as AuditEntryJson;
    expect(entry).toMatchObject({ action: "token.created", subject: "reader", actor: "preset-operator" });
    expect(entry.detail).toStartWith(token.id);
  });

  test("has its filters in its address until they are removed", async () => {
    const page = await open("/audit");
    await button(page, "Filter").click();
    await page.getByLabel("Action").selectOption("Rotated a token");
    await page.getByLabel("By").fill(" nobody ");
    await page.getByLabel("Before").fill("2026-01-15T09:30");
    await button(page, "Apply").click();
    await waitForText(page, "No entries match");
    expect(searchIn(page)).toBe("?action=token.rotated&actor=nobody&until=2026-01-15T08%3A30%3A00.000Z");
    await button(page, "Filter").click();
    expect(await page.getByLabel("Before").inputValue()).toBe("2026-01-15T09:30");
    await button(page, "Remove the filter By: nobody").click();
    await page.waitForURL(/\?action=token\.rotated&until=[^&]*$/);
  });

  test("shows older entries once, even if their button is clicked twice", async () => {
    for (const name of ["older", "newer"]) await mintToken(session.service, { name });
    const page = await open("/tokens");
    const clickedTwice = Promise.withResolvers<void>();
    let olderAsked = 0;
    await page.route("**/api/audit*", async (route) => {
      const url = new URL(route.request().url());
      if (url.searchParams.has("cursor")) {
        olderAsked++;
        await clickedTwice.promise;
      }
      url.searchParams.set("limit", "1");
      await route.continue({ url: url.href });
    });
    await page.getByRole("link", { name: "Audit" }).click();
    const older = button(page, "Show older entries");
    await older.click();
    // A forced click does not wait for the button to be enabled.
    await older.click({ force: true });
    clickedTwice.resolve();
    const entries = page.locator("summary");
    await waitUntil(async () => (await entries.count()) === 2);
    await waitUntil(() => older.isEnabled());
    expect(olderAsked).toBe(1);
    expect(await entries.allTextContents()).toEqual([
      expect.stringContaining("created token newer"),
      expect.stringContaining("created token older"),
    ]);
  });
});
