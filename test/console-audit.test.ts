import { expect } from "bun:test";
import { auditSentence } from "../src/console/audit/audit-sentence.ts";
import { formatMinute } from "../src/console/format.ts";
import type { AuditEntryJson } from "../src/operator/responses.ts";
import { describe, test } from "./browser.ts";
import { makeToken, see, useConsole } from "./console-session.ts";
import { operatorPost } from "./harness.ts";

const session = useConsole(1);
const { open } = session;

const at = "2026-11-15T08:00:00.500Z";
const later = "2027-02-15T08:41:00Z";
const entryOf = (action: string, subject: string, detail: string): AuditEntryJson => ({
  at,
  actor: "ops",
  action: action as AuditEntryJson["action"],
  subject,
  address: undefined,
  detail,
});

describe("the sentence of an entry", () => {
  test.each([
    [
      "token.created",
      "gh",
      "ab12: metrics; never expires",
      "created token gh with metrics; it never expires",
    ],
    [
      "token.created",
      "gh",
      `ab12: metrics, operator; expires ${later}`,
      `created token gh with metrics, operator; it expires ${formatMinute(later)}`,
    ],
    [
      "token.rotated",
      "gh",
      `ab12: metrics; never expires; replaces cd34, ef56, valid until ${later}`,
      `rotated token gh; the old secret works until ${formatMinute(later)}`,
    ],
    [
      "token.rotated",
      "gh",
      "ab12: metrics; never expires; replaces cd34, valid until 2026-11-15T08:00:00Z",
      "rotated token gh; the old secret stopped working at once",
    ],
    ["token.revoked", "gh", "cd34", "revoked token gh"],
    ["token.copied", "gh", "cd34", "copied token gh from another store"],
    ["console.signed-in", "console", "operator, metrics", "signed in to the console with operator, metrics"],
    ["export.started", "plants", "ndjson", "exported all plants as NDJSON"],
    ["export.started", "plants", "json", "exported all plants as JSON"],
    [
      "export.started",
      "plants",
      'csv-safe, tag "a, \\"b\\"", namePart "fern", id -5',
      'exported plants with tag "a, \\"b\\"", "fern" in their name, id -5 as CSV for spreadsheets',
    ],
    ["export.started", "plants", 'csv, tag "cut off', 'exported plants with tag "cut off as CSV'],
    [
      "follow.started",
      "plants",
      `createdBy "gh", sinceMs ${Date.parse(later)}`,
      `read plants with creator "gh", time from ${formatMinute(later)} from the beginning`,
    ],
    ["follow.started", "plants", "", "read all plants from the beginning"],
    ["import.started", "spring.csv", "", "started to import spring.csv"],
    ["import.finished", "spring.csv", "59979 created", "imported spring.csv: 59,979 created"],
    ["backup.created", "data file", "", "started a backup"],
    ["backup.verified", "a.db", "", "started to verify backup a.db"],
    ["backup.downloaded", "a.db", "", "downloaded backup a.db"],
    ["plant.pruned", "rose", "hard", "plant.pruned rose hard"],
  ])("%s of %s with the detail %j", (action, subject, detail, sentence) => {
    expect(auditSentence(entryOf(action, subject, detail))).toBe(sentence);
  });
});

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
