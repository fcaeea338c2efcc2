import { afterAll, expect } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "./browser.ts";
import { useConsole } from "./console-session.ts";
import { temporaryFolder } from "./harness.ts";

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
  test("has the health, the settings in force without a secret, and a link to the docs", async () => {
    const page = await open("/system");
    await page.getByText("Disk space left").waitFor();
    expect(await page.locator(".health-facts").textContent()).toMatch(
      /Storeready.*EngineSQLite.*WAL[\d.]+ \w+.*Fsync of the WALmedian [\d.]+ ms, p99 [\d.]+ ms/,
    );
    const settings = page.getByRole("table", { name: "Settings in force" });
    const row = settings.getByRole("row", { name: /max-body-bytes/ });
    expect(await row.textContent()).toBe("max-body-bytes65536default");
    expect(await settings.getByRole("row", { name: /OPERATOR_TOKEN/ }).textContent()).toContain("not shown");
    expect(await page.content()).not.toMatch(/test-(?:access|operator)-token/);
    const docs = page.getByRole("link", { name: "API docs" });
    expect(await docs.getAttribute("href")).toBe(`${session.running.url}/docs`);
  });

  test("makes, verifies and downloads a backup", async () => {
    const page = await open("/system");
    await page.getByText("No backups yet.").waitFor();
    await page.getByRole("button", { name: "Back up now" }).click();
    await page.getByText("The backup is complete and checked.").waitFor();
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText(/\.db is sound\.$/).waitFor();
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const downloaded = await waiting;
    expect(readFileSync(await downloaded.path())).toEqual(
      readFileSync(join(backupFolder, downloaded.suggestedFilename())),
    );
  });
});

describe("the plants", () => {
  test("that match are counted on request", async () => {
    const page = await open("/plants?name=e");
    await page.getByRole("button", { name: "Count all" }).click();
    const headers = { Authorization: `Bearer ${session.secret}` };
    const response = await fetch(`${session.running.operatorUrl}/api/plants/count?name=e`, { headers });
    const { plants } = (await response.json()) as { plants: string };
    expect(Number(plants)).toBeGreaterThan(500);
    await page.getByText(`${Number(plants).toLocaleString("en")} plants match in total.`).waitFor();
  });
});
