// The console's page of the system, with its settings and backups, in a browser.
import { afterAll, expect } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { settings as known } from "../../src/config/settings.ts";
import { contentOf, copiedBy, test } from "../support/browser.ts";
import { textIn, useConsole, waitForText } from "../support/console-session.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { findSecrets } from "../support/tokens.ts";

const folder = temporaryFolder();
const backupFolder = join(folder.path, "backups");
mkdirSync(backupFolder);
afterAll(() => folder[Symbol.dispose]());
const session = useConsole(1, { "backup-folder": backupFolder });
const { open } = session;

test("the system page has the state of the store, the version and the settings without secrets", async () => {
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
  const groups = new Set(Object.values(known).map(({ group }) => group));
  expect(headings.toSorted()).toEqual([...groups, "Secrets"].sort());
  expect(findSecrets(await page.content())).toEqual([]);
});

/** The body of the table of backups. */
const rows = (page: Page) => page.getByRole("table", { name: "Backups" }).locator("tbody");

test("a backup is made once by a double click, and can be restored and downloaded", async () => {
  const page = await open("/system");
  await page.getByRole("button", { name: "Back up now" }).dblclick();
  await waitForText(page, "The backup is complete and checked.");
  expect(await rows(page).textContent()).toMatch(/\.db[\d.]+ [kM]BDownload/);
  expect(await page.getByRole("alert").count()).toBe(0);

  await page.getByText("Restore command").click();
  const command = await copiedBy(page.getByRole("button", { name: "Copy command" }));
  expect(command).toMatch(/^plant-store restore \S+\.db --replace --database \S+\.db$/);
  expect(await textIn(page, ".backups pre >> nth=0")).toBe(command);

  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const downloaded = await waiting;
  const file = join(backupFolder, downloaded.suggestedFilename());
  expect(await contentOf(downloaded)).toEqual(readFileSync(file));
});
