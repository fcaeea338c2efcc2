import { expect } from "bun:test";
import type { AuditEntryJson } from "../src/operator/responses.ts";
import { describe, test } from "./browser.ts";
import { makeToken, see, useConsole } from "./console-session.ts";
import { operatorPost } from "./harness.ts";

const session = useConsole(1);
const { open } = session;

describe("the audit trail", () => {
  test("is filtered by action and actor, in the address and with chips that remove a filter", async () => {
    await makeToken(session.running, "filtered", ["metrics"]);
    const page = await open("/audit");
    await see(page, "created token filtered with metrics; it never expires");
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByLabel("Action").selectOption("Rotated a token");
    await page.getByLabel("By").fill("nobody");
    await page.getByRole("button", { name: "Apply" }).click();
    await see(page, "No entries match");
    expect(new URL(page.url()).search).toBe("?action=token.rotated&actor=nobody");
    await page.getByRole("button", { name: "Remove the filter By: nobody" }).click();
    await see(page, "No entries match");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await see(page, "created token filtered");
    expect(new URL(page.url()).search).toBe("");
  });

  test("is filtered by a time of the browser's time zone", async () => {
    await makeToken(session.running, "timed", ["metrics"]);
    const page = await open("/audit");
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByLabel("Before").fill("2026-01-15T09:30");
    await page.getByRole("button", { name: "Apply" }).click();
    await see(page, "No entries match");
    expect(new URL(page.url()).searchParams.get("until")).toBe("2026-01-15T08:30:00.000Z");
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    expect(await page.getByLabel("Before").inputValue()).toBe("2026-01-15T09:30");
  });

  test("says why a filter in the address cannot be read", async () => {
    const page = await open("/audit?since=yesterday");
    await see(page, 'Parameter "since" must be a time such as 2026-11-15T09:30:00Z, but is "yesterday".');
  });

  test("has local times, and opens an entry as JSON", async () => {
    const { token } = await operatorPost(session.running, "/api/tokens", { name: "opened" });
    const page = await open("/audit?action=token.created");
    const row = page.locator("tr", { hasText: "created token opened" });
    await row.locator("summary").focus();
    await page.keyboard.press("Enter");
    const entry = JSON.parse((await row.locator("pre").textContent()) ?? "") as AuditEntryJson;
    expect(entry).toMatchObject({ action: "token.created", subject: "opened", actor: "preset-operator" });
    expect(entry.detail).toStartWith(token.id);
    const local = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", timeZone: "Europe/Berlin" });
    expect(await row.locator("time").textContent()).toBe(local.format(new Date(entry.at)));
  });
});
