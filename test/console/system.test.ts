// The console's page of the system, with its settings and backups, in a browser.
import { afterAll, expect } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { contentOf, copiedBy, describe, test } from "../support/browser.ts";
import { see, textOf, useConsole } from "../support/console-session.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder();
const backupFolder = join(folder.path, "backups");
mkdirSync(backupFolder);
afterAll(() => folder[Symbol.dispose]());
// With a full block, so that a backup has a digest.
const session = useConsole(1100, { "backup-folder": backupFolder });
const { open } = session;

describe("the system page", () => {
  test("has the state on one line", async () => {
    const page = await open("/system");
    await see(page, "Disk space free");
    expect(await textOf(page, ".state-line")).toMatch(
      /^Plants can be storedData file [\d.]+ \w+WAL [\d.]+ \w+Disk space free [\d.]+ \w+$/,
    );
    await page.setViewportSize({ width: 768, height: 800 });
    try {
      expect((await page.locator(".state-line").boundingBox())?.height).toBeLessThan(50);
    } finally {
      await page.setViewportSize({ width: 1280, height: 600 });
    }
  });

  test("says which version is running", async () => {
    const page = await open("/system");
    await see(page, /^Version [\d.]+, started /);
  });

  test("lists the settings without a secret", async () => {
    const page = await open("/system");
    await see(page, "Disk space free");
    const settings = page.getByRole("table", { name: "Current settings" });
    const sources = settings.locator("tbody td > :last-child");
    expect(new Set(await sources.allTextContents())).toEqual(
      new Set(["from its flag", "from the environment"]),
    );
    expect(await settings.getByRole("row", { name: /^backup-folder/ }).count()).toBe(1);
    await page.getByRole("button", { name: /^Show all \d\d$/ }).click();
    const row = settings.getByRole("row", { name: /max-body-bytes/ });
    expect(await row.textContent()).toBe("max-body-bytes the largest request body accepted65536 default");
    expect(await settings.getByRole("row", { name: /OPERATOR_TOKEN/ }).textContent()).toContain("not shown");
    expect(await page.content()).not.toMatch(/test-(?:access|operator)-token/);
  });

  test("links to the docs page", async () => {
    const page = await open("/system");
    const docs = page.getByRole("link", { name: "API docs" });
    expect(await docs.getAttribute("href")).toBe(`${session.running.url}/docs`);
  });

  test("says how far a verification is", async () => {
    const task = { kind: "verify", name: "a.db" };
    const progress = { doing: "checking the rows of", share: 0.41 };
    const page = await open("/tokens");
    await page.route("**/api/backups", (route) =>
      route.fulfill({ json: { folder: "/b", backups: [], task, progress } }),
    );
    await page.getByRole("link", { name: "System" }).click();
    await see(page, "Verifying a.db…");
    await see(page, "Now checking the rows of it: 41%");
  });

  test("does not show the next backup as an error after one failed", async () => {
    const last = { kind: "create", problem: "There is no space left on the disk." };
    const page = await open("/tokens");
    await page.route("**/api/backups", (route) =>
      route.fulfill({ json: { folder: "/b", backups: [], task: { kind: "create" }, last } }),
    );
    await page.getByRole("link", { name: "System" }).click();
    const status = page.getByText("Making a backup…");
    await status.waitFor();
    expect(await status.getAttribute("class")).toBe("note");
  });

  test("makes a backup that can be verified, restored and downloaded", async () => {
    const page = await open("/system");
    await see(page, "No backups yet.");
    await page.getByRole("button", { name: "Back up now" }).click();
    await see(page, "The backup is complete and checked.");
    const backup = page.getByRole("table", { name: "Backups" }).locator("tbody");
    expect(await backup.textContent()).toMatch(/[0-9a-f]{8}… of 1,024 plants.*not yet/);
    await page.getByRole("button", { name: "Verify" }).click();
    await see(page, /\.db was verified, and nothing wrong was found\.$/);
    expect(await backup.textContent()).not.toContain("not yet");
    await backup.getByText("Restore command and digest").click();
    const digest = await copiedBy(backup.getByRole("button", { name: "Copy digest" }));
    expect(digest).toMatch(/^1024 [0-9a-f]{64}$/);
    await backup.getByRole("button", { name: "Copied" }).waitFor();
    await backup.getByRole("button", { name: "Copy command" }).click();
    await backup.getByRole("button", { name: "Copied" }).nth(0).waitFor();
    const command = await textOf(page, ".backups pre >> nth=0");
    expect(command).toMatch(/^plant-store restore \S+\.db --replace --database \S+\.db$/);
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const downloaded = await waiting;
    expect(await contentOf(downloaded)).toEqual(
      readFileSync(join(backupFolder, downloaded.suggestedFilename())),
    );
  });
});
