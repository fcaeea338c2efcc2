// The console's page of the system, with its settings and backups, in a browser.
import { afterAll, expect } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import packageFile from "../../package.json" with { type: "json" };
import { whyUnrecorded } from "../../src/storage/sqlite/data-file/last-backup.ts";
import { hourMs } from "../../src/text/duration.ts";
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

test("the system page has the version, the files and the changed settings without secrets", async () => {
  const page = await open("/system");
  const lead = page.getByText(/^Version /);
  await lead.waitFor();
  const version = packageFile.version.replaceAll(".", "\\.");
  expect(await lead.textContent()).toMatch(
    new RegExp(`^Version ${version}, data file [\\d.]+ \\w+, WAL [\\d.]+ \\w+, started `),
  );
  const docs = page.getByRole("link", { name: "API docs" });
  expect(await docs.getAttribute("href")).toBe(`${session.service.url}/docs`);
  const settings = page.getByRole("table", { name: "Changed settings" });
  await settings.getByRole("row", { name: /^backup-folder/ }).waitFor();
  const sources = await settings.locator("tbody td > :last-child").allTextContents();
  expect(new Set(sources)).toEqual(new Set(["from its flag", "from the environment"]));
  expect(await settings.getByRole("row", { name: /OPERATOR_TOKEN/ }).textContent()).toContain("not shown");
  expect(findSecrets(await page.content())).toEqual([]);
  // A backup that was made elsewhere is not in the list, and its time is known.
  const backup = { atMs: Date.now() - 3 * hourMs, plants: 0, coveredPlants: 0, digest: null };
  expect(whyUnrecorded(session.service.database, backup)).toBeUndefined();
  await waitForText(page, /^The last backup was made elsewhere, 3 hours ago/);
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
  expect(await textIn(page, ".restore pre")).toBe(command);

  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const downloaded = await waiting;
  const file = join(backupFolder, downloaded.suggestedFilename());
  expect(await contentOf(downloaded)).toEqual(readFileSync(file));
});
