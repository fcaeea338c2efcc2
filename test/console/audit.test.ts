// The console's page of the audit trail, in a browser.
import { expect } from "bun:test";
import type { Route } from "playwright-core";
import type { AuditEntryJson } from "../../src/operator/responses.ts";
import { describe, test } from "../support/browser.ts";
import { useConsole, waitForText, waitUntil } from "../support/console-session.ts";
import { memoize } from "../support/memoize.ts";
import { mintToken, operatorFetch } from "../support/operator-requests.ts";

const session = useConsole(1);
const { open } = session;

describe("the audit trail", () => {
  test("says what was done", async () => {
    await mintToken(session.service, { name: "reader", scopes: ["metrics"] });
    const page = await open("/audit");
    await waitForText(page, "created token reader with metrics; it never expires");
  });

  test("has its entries under the day on which they were made", async () => {
    const page = await open("/audit");
    const at = ["2026-01-15T23:30:00Z", "2026-01-15T22:30:00Z"];
    const entry = { actor: "ops", action: "export.started", subject: "plants", detail: "" };
    await page.route("**/api/audit*", (route) =>
      route.fulfill({ json: { entries: at.map((time) => ({ ...entry, at: time })) } }),
    );
    await page.reload();
    await page.locator("table.audit").waitFor();
    // The browser is in Berlin.
    expect(await page.locator(".audit :is(.row-group th, time)").allTextContents()).toEqual([
      expect.stringMatching(/^Friday,? 16 January 2026$/),
      "00:30:00",
      expect.stringMatching(/^Thursday,? 15 January 2026$/),
      "23:30:00",
    ]);
  });

  test("has the filter that was applied in its address", async () => {
    const page = await open("/audit");
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByLabel("Action").selectOption("Rotated a token");
    await page.getByLabel("By").fill("nobody");
    await page.getByRole("button", { name: "Apply" }).click();
    await waitForText(page, "No entries match");
    expect(new URL(page.url()).search).toBe("?action=token.rotated&actor=nobody");
  });

  test("keeps the filters that are not removed", async () => {
    const page = await open("/audit?action=token.rotated&actor=nobody");
    await page.getByRole("button", { name: "Remove the filter By: nobody" }).click();
    await page.waitForURL(/\/audit\?action=token\.rotated$/);
    await waitForText(page, "No entries match");
  });

  describe.each(["Remove the filter By: nobody", "Clear", "Clear filters"])("after %s", (name) => {
    const removeFilter = memoize(async () => {
      const page = await open("/audit?actor=nobody");
      await page.getByRole("button", { name, exact: true }).click();
      await page.locator("table.audit").waitFor();
      const filter = page.getByRole("button", { name: "Filter", exact: true });
      return {
        search: new URL(page.url()).search,
        hasFocus: await filter.evaluate((button) => button.matches(":focus")),
      };
    });

    test("has no filter in its address", async () => {
      expect((await removeFilter()).search).toBe("");
    });

    test("gives the focus to the filter's button", async () => {
      expect((await removeFilter()).hasFocus).toBe(true);
    });
  });

  test("is filtered by a time of the browser's time zone", async () => {
    await mintToken(session.service, { name: "timed", scopes: ["metrics"] });
    const page = await open("/audit");
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByLabel("Before").fill("2026-01-15T09:30");
    await page.getByRole("button", { name: "Apply" }).click();
    await waitForText(page, "No entries match");
    expect(new URL(page.url()).searchParams.get("until")).toBe("2026-01-15T08:30:00.000Z");
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    expect(await page.getByLabel("Before").inputValue()).toBe("2026-01-15T09:30");
  });

  test("says why a filter in the address cannot be read", async () => {
    const page = await open("/audit?since=yesterday");
    await waitForText(
      page,
      'Parameter "since" must be a time, such as 2026-11-15 or 2026-11-15T09:30Z, but is "yesterday".',
    );
  });

  describe("opens an entry", () => {
    /** The row of that entry and its JSON, opened by the keyboard. */
    async function openEntry(name: string) {
      const { token } = await mintToken(session.service, { name });
      const page = await open("/audit?action=token.created");
      const row = page.locator("tr", { hasText: `created token ${name}` });
      await row.locator("summary").focus();
      await page.keyboard.press("Enter");
      const entry = JSON.parse((await row.locator("pre").textContent()) ?? "") as AuditEntryJson;
      return { row, entry, token };
    }

    test("as JSON", async () => {
      const { entry, token } = await openEntry("opened");
      expect(entry).toMatchObject({ action: "token.created", subject: "opened", actor: "preset-operator" });
      expect(entry.detail).toStartWith(token.id);
    });

    test("whose time is local in the table", async () => {
      const { row, entry } = await openEntry("timed in Berlin");
      const local = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", timeZone: "Europe/Berlin" });
      expect(await row.locator("time").textContent()).toBe(local.format(new Date(entry.at)));
    });
  });

  test("shows older entries once, even if their button is clicked twice", async () => {
    const page = await open("/tokens");
    const entry = { at: "2026-11-15T09:30:00.000Z", action: "console.signed-in", subject: "", detail: "" };
    const held: Route[] = [];
    await page.route("**/api/audit", (route) =>
      route.fulfill({ json: { entries: [{ ...entry, actor: "newer" }], next: "1" } }),
    );
    await page.route("**/api/audit?cursor=1", (route) => void held.push(route));
    await page.getByRole("link", { name: "Audit" }).click();
    const button = page.getByRole("button", { name: "Show older entries" });
    await button.click();
    // A forced click does not wait for the button to be enabled.
    await button.click({ force: true });
    await waitUntil(async () => held.length > 0);
    for (const route of held) await route.fulfill({ json: { entries: [{ ...entry, actor: "older" }] } });
    await button.waitFor({ state: "detached" });
    expect(held).toHaveLength(1);
    expect(await page.locator(".audit summary b").allTextContents()).toEqual(["newer", "older"]);
  });

  test("shows its older entries on request", async () => {
    // One token may do no more than 60 of them at once.
    for (const name of ["exporter", "other exporter"]) {
      const { secret: token } = await mintToken(session.service, { name, scopes: ["operator:read"] });
      for (let count = 0; count < 50; count++) {
        const response = await operatorFetch(session.service, "/api/export?tag=none", { token });
        await response.text();
      }
    }
    const page = await open("/audit");
    const entries = page.locator(".audit details");
    await waitUntil(async () => (await entries.count()) === 100);
    await page.getByRole("button", { name: "Show older entries" }).click();
    await waitUntil(async () => (await entries.count()) > 100);
  });
});
