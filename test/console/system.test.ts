// The console's page of the system, with its settings and backups, in a browser.
import { afterAll, beforeEach, expect } from "bun:test";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page, Request } from "playwright-core";
import { settingGroups } from "../../src/config/settings.ts";
import { backupCalls } from "../support/backups.ts";
import { contentOf, copiedBy, describe, test } from "../support/browser.ts";
import { textIn, useConsole, waitForText } from "../support/console-session.ts";
import { memoize } from "../support/memoize.ts";
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
  /** What it shows as it is opened, in a window of 768 pixels, and when it is asked for all settings. */
  const readSystem = memoize(async () => {
    const page = await open("/system");
    await waitForText(page, "Disk space free");
    const state = await textIn(page, ".state-line");
    const version = await page.getByText(/^Version /).textContent();
    const docs = await page.getByRole("link", { name: "API docs" }).getAttribute("href");
    const settings = page.getByRole("table", { name: "Current settings" });
    await settings.getByRole("row", { name: /^backup-folder/ }).waitFor();
    const sources = await settings.locator("tbody td > :last-child").allTextContents();
    const secret = await page.getByRole("row", { name: /OPERATOR_TOKEN/ }).textContent();
    const content = await page.content();
    await page.setViewportSize({ width: 768, height: 800 });
    const stateBox = await page.locator(".state-line").boundingBox();
    await page.getByRole("button", { name: /^Show all \d\d$/ }).click();
    const unchanged = await page.getByRole("row", { name: /max-body-bytes/ }).textContent();
    const headings = await settings.locator(".row-group").allTextContents();
    return { state, version, docs, sources, secret, content, stateBox, unchanged, headings };
  });

  test("has the state of the store with the space that is left", async () => {
    expect((await readSystem()).state).toMatch(
      /^Plants can be storedData file [\d.]+ \w+WAL [\d.]+ \w+Disk space free [\d.]+ \w+$/,
    );
  });

  test("has the state on one line of 768 pixels", async () => {
    expect((await readSystem()).stateBox?.height).toBeLessThan(50);
  });

  test("says which version is running", async () => {
    expect((await readSystem()).version).toMatch(/^Version [\d.]+, started /);
  });

  test("lists the settings that were changed, with their sources", async () => {
    const { sources } = await readSystem();
    expect(new Set(sources)).toEqual(new Set(["from its flag", "from the environment"]));
  });

  test("lists the settings that have their defaults when it is asked to", async () => {
    const { unchanged } = await readSystem();
    expect(unchanged).toBe("max-body-bytes the largest request body accepted65536 default");
  });

  test("lists all settings under the headings of the help", async () => {
    const { headings } = await readSystem();
    expect(headings.toSorted()).toEqual([...Object.keys(settingGroups), "Secrets"].sort());
  });

  test("shows why the settings cannot be loaded in place of them", async () => {
    const page = await open("/system");
    const refusal = JSON.stringify({ error: 40301, message: "This token lacks a scope." });
    await page.route("**/api/settings", (route) =>
      route.fulfill({ status: 403, contentType: "application/json", body: refusal }),
    );
    await page.reload();
    await waitForText(page, "This token lacks a scope.");
    await waitForText(page, "Disk space free");
    expect(await page.locator("[aria-busy=true]").count()).toBe(0);
    expect(await page.getByRole("button", { name: /^Show all/ }).count()).toBe(0);
  });

  test("lists a setting that is a secret without its value", async () => {
    const { secret, content } = await readSystem();
    expect(secret).toContain("not shown");
    expect(findSecrets(content)).toEqual([]);
  });

  test("links to the docs page", async () => {
    expect((await readSystem()).docs).toBe(`${session.service.url}/docs`);
  });

  test("says that there are no backups yet", async () => {
    const page = await open("/tokens");
    await page.route("**/api/backups", (route) => route.fulfill({ json: { folder: "/b", backups: [] } }));
    await page.getByRole("link", { name: "System" }).click();
    await waitForText(page, "No backups yet.");
  });

  test("says how far a verification is", async () => {
    const task = { kind: "verify", name: "a.db" };
    const progress = { doing: "checking the rows of", share: 0.41 };
    const page = await open("/tokens");
    await page.route("**/api/backups", (route) =>
      route.fulfill({ json: { folder: "/b", backups: [], task, progress } }),
    );
    await page.getByRole("link", { name: "System" }).click();
    await waitForText(page, "Verifying a.db…");
    await waitForText(page, "Checking the rows of the backup: 41%");
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
});

describe("on the system page, a backup", () => {
  beforeEach(() => {
    rmSync(backupFolder, { recursive: true });
    mkdirSync(backupFolder);
  });

  /** The body of the table of backups. */
  const rows = (page: Page) => page.getByRole("table", { name: "Backups" }).locator("tbody");

  /** Makes one without the page, and opens the page, which lists it. */
  async function openWithBackup(): Promise<Page> {
    await backupCalls(session.service).makeBackup();
    const page = await open("/system");
    await rows(page).getByText("not yet").waitFor();
    return page;
  }

  test("is made", async () => {
    const page = await open("/system");
    await page.getByRole("button", { name: "Back up now" }).click();
    await rows(page).getByText("not yet").waitFor();
    await waitForText(page, "The backup is complete and checked.");
    expect(await rows(page).textContent()).toMatch(/[0-9a-f]{8}… of 1,024 plants.*not yet/);
  });

  test("is started once by a double click", async () => {
    const page = await open("/system");
    await page.getByRole("button", { name: "Back up now" }).dblclick();
    await rows(page).getByText("not yet").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  test("is verified once by a double click", async () => {
    const page = await openWithBackup();
    await page.getByRole("button", { name: "Verify" }).dblclick();
    await rows(page).locator(".state").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
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

  test("is verified", async () => {
    const page = await openWithBackup();
    await page.getByRole("button", { name: "Verify" }).click();
    await waitForText(page, /\.db was verified, and nothing wrong was found\.$/);
    expect(await rows(page).textContent()).not.toContain("not yet");
  });

  /** What the buttons beside a backup copy, and the command that is shown. */
  const copyFromBackup = memoize(async () => {
    const page = await openWithBackup();
    await page.getByText("Restore command and digest").click();
    const digest = await copiedBy(page.getByRole("button", { name: "Copy digest" }));
    await rows(page).getByRole("button", { name: "Copied" }).waitFor();
    const command = await copiedBy(page.getByRole("button", { name: "Copy command" }));
    return { digest, command, shownCommand: await textIn(page, ".backups pre >> nth=0") };
  });

  test("has a digest to copy", async () => {
    expect((await copyFromBackup()).digest).toMatch(/^1024 [0-9a-f]{64}$/);
  });

  test("has a command to copy that restores it", async () => {
    const { command, shownCommand } = await copyFromBackup();
    expect(command).toMatch(/^plant-store restore \S+\.db --replace --database \S+\.db$/);
    expect(shownCommand).toBe(command);
  });

  test("is downloaded", async () => {
    const page = await openWithBackup();
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const downloaded = await waiting;
    expect(await contentOf(downloaded)).toEqual(
      readFileSync(join(backupFolder, downloaded.suggestedFilename())),
    );
  });
});
