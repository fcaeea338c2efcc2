import { afterAll, expect } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { contentOf, describe, test } from "./browser.ts";
import { makeToken, useConsole } from "./console-session.ts";
import { eventually, post, temporaryFolder } from "./harness.ts";

const folder = temporaryFolder();
const backupFolder = join(folder.path, "backups");
mkdirSync(backupFolder);
const session = useConsole(3000, { "backup-folder": backupFolder });
const { open } = session;

afterAll(() => {
  folder[Symbol.dispose]();
  expect(session.pageErrors).toEqual([]);
});

describe("the system page", () => {
  test("has the health, settings without a secret, and a link to the docs", async () => {
    const page = await open("/system");
    await page.getByText("Disk space free").waitFor();
    expect(await page.locator(".health-facts").textContent()).toMatch(
      /Storeready.*EngineSQLite.*WAL[\d.]+ \w+.*Fsync of the WALmedian [\d.]+ ms, p99 [\d.]+ ms/,
    );
    const settings = page.getByRole("table", { name: "Current settings" });
    const sources = settings.locator("tbody td:last-child");
    expect(new Set(await sources.allTextContents())).toEqual(new Set(["flag", "environment"]));
    expect(await settings.getByRole("row", { name: /^backup-folder/ }).count()).toBe(1);
    await page.getByRole("button", { name: /^Show all \d\d$/ }).click();
    const row = settings.getByRole("row", { name: /max-body-bytes/ });
    expect(await row.textContent()).toBe("max-body-bytes65536default");
    expect(await settings.getByRole("row", { name: /OPERATOR_TOKEN/ }).textContent()).toContain("not shown");
    expect(await page.content()).not.toMatch(/test-(?:access|operator)-token/);
    const docs = page.getByRole("link", { name: "API docs" });
    expect(await docs.getAttribute("href")).toBe(`${session.running.url}/docs#from-console`);
  });

  test("makes, verifies and downloads a backup", async () => {
    const page = await open("/system");
    await page.getByText("No backups yet.").waitFor();
    await page.getByRole("button", { name: "Back up now" }).click();
    await page.getByText("The backup is complete and checked.").waitFor();
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText(/\.db is intact\.$/).waitFor();
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const downloaded = await waiting;
    expect(await contentOf(downloaded)).toEqual(
      readFileSync(join(backupFolder, downloaded.suggestedFilename())),
    );
  });
});

test("each token has a count of its plants", async () => {
  const token = await makeToken(session.running, "counted", ["plants:create"]);
  for (let id = 1; id <= 3; id++)
    await post(session.running.url, `{"id":${-id},"name":"Counted"}`, { Authorization: `Bearer ${token}` });
  const page = await open("/tokens");
  const inRow = (name: string) => page.getByRole("row", { name }).getByRole("link", { name: /plants?$/ });
  await inRow("counted").waitFor();
  await page.setViewportSize({ width: 768, height: 1024 });
  const headings = page.locator(".tokens thead th").filter({ visible: true });
  expect((await headings.allTextContents()).map((text) => text.trim())).toEqual([
    "Name",
    "Scopes",
    "State",
    "Last used",
    "Plants",
    "Actions",
  ]);
  await page.getByRole("link", { name: "3 plants" }).click();
  await page.getByText("3 plants match").first().waitFor();
});

test("a token whose plants are many can be counted to the end, and looks as if it can", async () => {
  const page = await open("/import");
  await page.route("**/api/plants/count?*", (route) => {
    const isRest = route.request().url().includes("cursor=");
    return route.fulfill({ json: isRest ? { plants: "1" } : { plants: "900000", next: "there" } });
  });
  // The clock is past what is counted by itself.
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.getByRole("link", { name: "Tokens" }).click();
  const button = page.getByRole("button", { name: "Count the plants of ops" });
  await button.waitFor();
  const [color, opacity, border] = await page.evaluate<string[]>(`(() => {
    const button = [...document.querySelectorAll(".tokens button")].find((one) => one.textContent.startsWith("Count"));
    const { color, opacity, borderTopWidth } = getComputedStyle(button);
    return [color === getComputedStyle(document.body).color ? "ink" : color, opacity, borderTopWidth];
  })()`);
  expect([color, opacity, border]).toEqual(["ink", "1", "1px"]);
  await button.click();
  await page.getByRole("link", { name: "900,001 plants" }).first().waitFor();
});

describe("the plants", () => {
  test("start at a time that one jumps to, and reversing the order continues from it", async () => {
    const page = await open("/plants", { timezoneId: "UTC" });
    const times = async () => {
      const shown = page.locator(".rows .row time");
      await shown.nth(5).waitFor();
      const all = await shown.evaluateAll((times) =>
        times.map((time) => time.getAttribute("datetime") ?? ""),
      );
      return all.slice(0, 5);
    };
    const atMs = Math.floor((Date.now() - 3_600_000) / 1000) * 1000;
    const at = new Date(atMs).toISOString();
    await page.getByRole("button", { name: "Created", exact: true }).click();
    await page.getByLabel("Jump to").fill(at.slice(0, 19).replace("T", " "));
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`at=${encodeURIComponent(at)}`));
    await eventually(async () => ((await times())[0] ?? "9") <= at);
    const [newest = ""] = await times();
    expect(atMs - Date.parse(newest)).toBeLessThan(60_000);
    await page.getByRole("button", { name: "reverse the order" }).click();
    await eventually(async () => ((await times())[0] ?? "") >= at);
    const forwards = await times();
    expect(forwards).toEqual(forwards.toSorted());
    expect(Date.parse(forwards[0] ?? "") - atMs).toBeLessThan(60_000);
  });
});
