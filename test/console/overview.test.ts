// The console's overview, in a browser.
import { expect } from "bun:test";
import packageFile from "../../package.json" with { type: "json" };
import { recordLastBackup } from "../../src/storage/sqlite/maintenance/backup-records.ts";
import { hourMs } from "../../src/text/duration.ts";
import { describe, test } from "../support/browser.ts";
import { start } from "../support/command.ts";
import { textIn, useConsole, waitForHeading, waitForText, waitUntil } from "../support/console-session.ts";
import { memoize } from "../support/memoize.ts";
import { post } from "../support/post-plants.ts";
import { startTestService } from "../support/test-service.ts";
import { accessToken, operatorToken } from "../support/tokens.ts";

const seeded = 1100;
const session = useConsole(seeded);
const { open } = session;

describe("the overview", () => {
  test("shows the state of the store", async () => {
    const page = await open("/");
    await waitForText(page, "All plants are on disk");
    await waitForText(page, "Disk space free");
    await waitForText(page, / left at this rate$/);
    await waitForText(page, `Version ${packageFile.version}`);
  });

  test("does not say of PostgreSQL that all plants are on disk", async () => {
    const page = await open("/");
    await page.route("**/api/overview*", async (route) => {
      const response = await route.fetch();
      const overview = await response.json();
      await route.fulfill({ json: { ...overview, store: { ...overview.store, engine: "postgres" } } });
    });
    await page.reload();
    await waitForText(page, "All plants are stored");
    await waitForText(page, "In PostgreSQL");
  });

  test("shows a new backup live", async () => {
    const page = await open("/");
    await waitForText(page, "All plants are on disk");
    recordLastBackup(session.service.database, Date.now() - 3 * hourMs);
    await waitForText(page, "Last backup 3 hours ago");
  });

  test("shows a new plant live", async () => {
    const page = await open("/");
    const total = page.locator(".key-number-total .number > span");
    await total.waitFor();
    const count = async () => Number(((await total.textContent()) ?? "").replaceAll(",", ""));
    const before = await count();
    expect(before).toBeGreaterThanOrEqual(seeded);
    await post(session.service.url, '{"id":500001,"name":"Counted live"}');
    await waitUntil(async () => (await count()) === before + 1);
    await page.locator(".latest").getByText("Counted live").waitFor();
  });

  test("shows a refusal live", async () => {
    const page = await open("/");
    await waitForText(page, "All plants are on disk");
    await post(session.service.url, '{"name":"No id"}');
    await waitForText(page, "40010 a required field is missing");
  });

  test("names who was refused last, with a link to why", async () => {
    await post(session.service.url, '{"name":"No id"}');
    const page = await open("/");
    const last = page.getByRole("region", { name: "Refused" }).getByRole("listitem");
    await last.getByRole("link", { name: "preset-access" }).first().click();
    await page.waitForURL(/\/refused\?token=preset-access$/);
  });

  test("charts the plants of a period", async () => {
    const page = await open("/");
    await page.locator(".plot").hover({ position: { x: 400, y: 100 } });
    expect(await textIn(page, ".chart-tip")).toMatch(/^\d\d:\d\d\d+ createdrefusals unknown$/);
    await page.getByRole("button", { name: "7 d" }).click();
    await waitForHeading(page, "Plants per hour");
    expect(await page.locator(".plot").getAttribute("aria-label")).toStartWith("In the last 7 days, 1,1");
    expect(await textIn(page, ".legend")).toMatch(/^Created 1,1\d\dRefused \d+ since the start/);
  });

  test("says that it has not counted while the first count takes long", async () => {
    const page = await open("/tokens");
    await page.route("**/api/overview", async (route) => {
      const response = await route.fetch();
      const overview = (await response.json()) as object;
      await route.fulfill({ json: { ...overview, perMinute: undefined, perHour: undefined } });
    });
    await page.getByRole("link", { name: "Overview" }).click();
    await waitForText(page, "Not counted yet.");
  });

  test("that crashes leaves the other pages usable", async () => {
    const page = await open("/tokens", { crashes: true });
    await waitForHeading(page, "Tokens");
    await page.route("**/api/overview", (route) => route.fulfill({ json: { total: "not a number" } }));
    await page.getByRole("link", { name: "Overview" }).click();
    await waitForText(page, "This page stopped working");
    await page.getByRole("link", { name: "Tokens" }).click();
    await waitForHeading(page, "Tokens");
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await waitForText(page, "This page stopped working");
    await page.unrouteAll();
    await page.getByRole("button", { name: "Reload" }).click();
    await waitForText(page, "All plants are on disk");
  });

  test("has no rate above its own peak right after a burst", async () => {
    await using busy = await startTestService();
    const plants = Array.from({ length: 120 }, (_, id) => `{"id":${id},"name":"Burst"}`);
    await Promise.all(plants.map((plant) => post(busy.url, plant)));
    const page = await open("/", { origin: busy.operatorUrl, token: operatorToken });
    await waitForText(page, /^peak/);
    const figures = /^([\d.]+) peak ([\d.]+) in 3 h$/.exec(await textIn(page, ".key-number-rate .number"));
    const peak = Number(figures?.[2]);
    expect(peak).toBeGreaterThan(0);
    expect(Number(figures?.[1])).toBeLessThanOrEqual(peak);
  });
});

describe("an empty store", () => {
  /** What the console shows of it, and what the command that is shown prints. */
  const readEmpty = memoize(async () => {
    await using empty = await startTestService();
    const page = await open("/plants", { origin: empty.operatorUrl, token: operatorToken });
    await page.locator("h2").first().waitFor();
    const listHeading = await page.locator("h2").first().textContent();
    await page.getByRole("link", { name: "Overview" }).click();
    await waitForText(page, "Ready for the first plant");
    const figures = await page.locator(".key-number, .plot").count();
    const command = await textIn(page, ".empty .code");
    const run = command.replace("YOUR_TOKEN", accessToken).replace("curl", "curl -s");
    const { out } = await start("sh", ["-c", run]).ended;
    return { listHeading, figures, out };
  });

  test("has a list that says so", async () => {
    expect((await readEmpty()).listHeading).toBe("No plants yet");
  });

  test("has no figures on its overview", async () => {
    expect((await readEmpty()).figures).toBe(0);
  });

  test("has a command on its overview that creates the first plant", async () => {
    expect((await readEmpty()).out).toBe('{"name":"Fern","tag":"indoor"}');
  });

  test("shows the first plant live", async () => {
    await using empty = await startTestService();
    const page = await open("/", { origin: empty.operatorUrl, token: operatorToken });
    await waitForText(page, "Ready for the first plant");
    await post(empty.url, '{"id":1,"name":"Fern"}');
    await page.locator(".latest").getByText("Fern").waitFor();
    await waitForText(page, "All plants are on disk");
    await waitForText(page, "No backup yet");
  });
});
