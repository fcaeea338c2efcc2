// The console's page of the audit trail, in a browser.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import type { AuditEntryJson } from "../../src/operator/responses.ts";
import { describe, test } from "../support/browser.ts";
import { useConsole, waitForText, waitUntil } from "../support/console-session.ts";
import { mintToken } from "../support/operator-requests.ts";

const session = useConsole(1);
const { open } = session;

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

  test("has its entries under the local day on which they were made", async () => {
    const page = await open("/tokens");
    const at = ["2026-01-15T23:30:00Z", "2026-01-15T22:30:00Z"];
    const entry = { actor: "ops", action: "export.started", subject: "plants", detail: "" };
    await page.route("**/api/audit*", (route) =>
      route.fulfill({ json: { entries: at.map((time) => ({ ...entry, at: time })) } }),
    );
    await page.getByRole("link", { name: "Audit" }).click();
    await page.getByRole("table").waitFor();
    // The browser is in Berlin.
    expect(await page.locator(".row-group th, time").allTextContents()).toEqual([
      expect.stringMatching(/^Friday,? 16 January 2026$/),
      "00:30:00",
      expect.stringMatching(/^Thursday,? 15 January 2026$/),
      "23:30:00",
    ]);
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

  test.each(["Remove the filter By: nobody", "Clear", "Clear filters"])(
    "is shown without a filter after %s, with the focus at the filter's button",
    async (name) => {
      const page = await open("/audit?actor=nobody");
      await button(page, name).click();
      await page.getByRole("table").waitFor();
      expect(searchIn(page)).toBe("");
      expect(await button(page, "Filter").evaluate((element) => element.matches(":focus"))).toBe(true);
    },
  );

  test("says why a filter in the address cannot be read", async () => {
    const page = await open("/audit?since=yesterday");
    await waitForText(
      page,
      'Parameter "since" must be a time, such as 2026-11-15 or 2026-11-15T09:30Z, but is "yesterday".',
    );
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
