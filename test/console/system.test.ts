// The console's page of the system, with its settings and backups, in a browser.
import { afterAll, expect } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page, Request } from "playwright-core";
import { settingGroups } from "../../src/config/settings.ts";
import type { BackupsJson } from "../../src/operator/responses.ts";
import { contentOf, copiedBy, describe, test } from "../support/browser.ts";
import { textIn, useConsole, waitForText } from "../support/console-session.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { findSecrets } from "../support/tokens.ts";

const folder = temporaryFolder();
const backupFolder = join(folder.path, "backups");
mkdirSync(backupFolder);
afterAll(() => folder[Symbol.dispose]());
// With a full block, so that a backup has a digest.
const session = useConsole(1100, { "backup-folder": backupFolder });
const { open } = session;

describe("the system page", () => {
  test("has the state of the store, the version and the settings without secrets", async () => {
    const page = await open("/system");
    await waitForText(page, "Disk space free");
    expect(await textIn(page, ".state-line")).toMatch(
      /^Plants can be storedData file [\d.]+ \w+WAL [\d.]+ \w+Disk space free [\d.]+ \w+$/,
    );
    expect(await page.getByText(/^Version /).textContent()).toMatch(/^Version [\d.]+, started /);
    const docs = page.getByRole("link", { name: "API docs" });
    expect(await docs.getAttribute("href")).toBe(`${session.service.url}/docs`);
    const settings = page.getByRole("table", { name: "Current settings" });
    await settings.getByRole("row", { name: /^backup-folder/ }).waitFor();
    const sources = await settings.locator("tbody td > :last-child").allTextContents();
    expect(new Set(sources)).toEqual(new Set(["from its flag", "from the environment"]));
    expect(await settings.getByRole("row", { name: /OPERATOR_TOKEN/ }).textContent()).toContain("not shown");
    await page.getByRole("button", { name: /^Show all \d\d$/ }).click();
    expect(await settings.getByRole("row", { name: /max-body-bytes/ }).textContent()).toBe(
      "max-body-bytes the largest request body accepted65536 default",
    );
    const headings = await settings.locator(".row-group").allTextContents();
    expect(headings.toSorted()).toEqual([...Object.keys(settingGroups), "Secrets"].sort());
    expect(findSecrets(await page.content())).toEqual([]);
  });

  test("shows why the settings cannot be loaded in place of them", async () => {
    const page = await open("/tokens");
    const refusal = { error: 40301, message: "This token lacks a scope." };
    await page.route("**/api/settings", (route) => route.fulfill({ status: 403, json: refusal }));
    await page.getByRole("link", { name: "System" }).click();
    await waitForText(page, "This token lacks a scope.");
    await waitForText(page, "Disk space free");
    expect(await page.locator("[aria-busy=true]").count()).toBe(0);
    expect(await page.getByRole("button", { name: /^Show all/ }).count()).toBe(0);
  });

  test("says what is being done about backups", async () => {
    const page = await open("/tokens");
    let listed: Partial<Record<keyof BackupsJson, unknown>> = {};
    await page.route("**/api/backups", (route) =>
      route.fulfill({ json: { folder: "/b", backups: [], ...listed } }),
    );
    await page.getByRole("link", { name: "System" }).click();
    await waitForText(page, "No backups yet.");
    const progress = { doing: "checking the rows of", share: 0.41 };
    listed = { task: { kind: "verify", name: "a.db" }, progress };
    await waitForText(page, "Verifying a.db…");
    await waitForText(page, "Checking the rows of the backup: 41%");
    listed = { last: { kind: "create", problem: "There is no space left on the disk." } };
    await waitForText(page, "The backup failed: There is no space left on the disk.");
    // The next one is not shown as an error.
    listed = { ...listed, task: { kind: "create" } };
    const status = page.getByText("Making a backup…");
    await status.waitFor();
    expect(await status.getAttribute("class")).toBe("note");
  });
});

describe("a backup", () => {
  /** The body of the table of backups. */
  const rows = (page: Page) => page.getByRole("table", { name: "Backups" }).locator("tbody");

  test("is made and verified once by a double click, and can be copied and downloaded", async () => {
    const page = await open("/system");
    await page.getByRole("button", { name: "Back up now" }).dblclick();
    await rows(page).getByText("not yet").waitFor();
    await waitForText(page, "The backup is complete and checked.");
    expect(await rows(page).textContent()).toMatch(/[0-9a-f]{8}… of 1,024 plants.*not yet/);
    await page.getByRole("button", { name: "Verify" }).dblclick();
    await waitForText(page, /\.db was verified, and nothing wrong was found\.$/);
    expect(await rows(page).textContent()).not.toContain("not yet");
    expect(await page.getByRole("alert").count()).toBe(0);

    await page.getByText("Restore command and digest").click();
    const digest = await copiedBy(page.getByRole("button", { name: "Copy digest" }));
    expect(digest).toMatch(/^1024 [0-9a-f]{64}$/);
    const command = await copiedBy(page.getByRole("button", { name: "Copy command" }));
    expect(command).toMatch(/^plant-store restore \S+\.db --replace --database \S+\.db$/);
    expect(await textIn(page, ".backups pre >> nth=0")).toBe(command);

    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const downloaded = await waiting;
    const file = join(backupFolder, downloaded.suggestedFilename());
    expect(await contentOf(downloaded)).toEqual(readFileSync(file));
  });

  test("cannot be started before the page has loaded that another one runs", async () => {
    const page = await open("/system");
    const button = page.getByRole("button", { name: "Back up now" });
    await button.waitFor();
    const isList = (request: Request) => request.method() === "GET" && request.url().endsWith("/api/backups");
    let isStarted = false;
    // It is started, and from then on no list is loaded.
    await page.route("**/api/backups", async (route) => {
      if (isList(route.request())) return;
      isStarted = true;
      await route.fulfill({ status: 202, json: {} });
    });
    const reloaded = page.waitForRequest((request) => isList(request) && isStarted);
    await button.click();
    await reloaded;
    expect(await button.isDisabled()).toBe(true);
  });
});
