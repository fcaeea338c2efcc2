// The console's search, filters and exports of plants, in a browser.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { hourMs, minuteMs } from "../../src/text/duration.ts";
import { contentOf, describe, test } from "../support/browser.ts";
import { waitForHeading, waitForText, waitUntil } from "../support/console-session.ts";
import { mintToken } from "../support/operator-requests.ts";
import {
  focused,
  ids,
  names,
  rows,
  usePlantsTable,
  waitForFirstRow,
  waitForProgressLine,
} from "../support/plants-table.ts";
import { post } from "../support/post-plants.ts";
import { idOf } from "../support/seeded-store.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { bearer } from "../support/tokens.ts";

const session = usePlantsTable(2500);
const { add, open, openTable } = session;

const queryIn = (page: Page) => new URL(page.url()).searchParams;
const removeFilter = (page: Page, filter: string) =>
  page.getByRole("button", { name: `Remove the filter ${filter}` }).click();

const search = (page: Page, text: string) => page.getByLabel("Search by name or id").fill(text);
const found = (page: Page, id: string | bigint) =>
  page.getByRole("link", { name: new RegExp(`^Plant ${id} `) });

test("an id in the search shows the plant that has it before the names that contain it, and opens it exactly", async () => {
  const id = "-9223372036854775808";
  await add(id, "Found by its id", "fern");
  await add(880_002, `Named ${id}`);
  const page = await openTable();
  await search(page, ` ${id} `);
  await found(page, id).waitFor();
  expect(await found(page, id).textContent()).toBe(`Plant ${id}Found by its idfernEnter opens it`);
  await search(page, id);
  await waitForFirstRow(page, `Named ${id}`);
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`/plants/${id}\\?name=`));
  await waitForHeading(page, "Found by its id");
  expect(await page.locator(".facts .exact").textContent()).toBe(id);
  await page.keyboard.press("Escape");
  await page.waitForURL(/\/plants\?name=/);
  await waitUntil(async () => (await focused(page)).startsWith(`Plant ${id}`));
});

describe("a filter", () => {
  const panel = (page: Page) => page.locator(".popover-panel");
  const openPanel = (page: Page) => page.getByRole("button", { name: "Filter", exact: true }).click();
  const apply = (page: Page) => panel(page).getByRole("button", { name: "Apply" }).click();

  test("is in the address, and applies after a reload and to new plants, until it is cleared", async () => {
    const page = await openTable();
    await page.getByLabel("Search by name").fill("MONSTERA deli");
    await page.waitForURL(/name=MONSTERA\+deli/);
    await openPanel(page);
    // The panel opens with the focus in its first field.
    await waitUntil(() => page.evaluate<boolean>("document.activeElement.matches('.popover-panel input')"));
    await page.keyboard.type("perennial");
    await page.keyboard.press("Enter");
    await page.waitForURL(/tag=perennial/);
    await panel(page).waitFor({ state: "detached" });
    await page.reload();
    await rows(page).first().waitFor();
    expect(await page.getByLabel("Search by name").inputValue()).toBe("MONSTERA deli");
    expect(new Set(await names(page))).toEqual(new Set(["Monstera deliciosa"]));
    await add(870_001, "Monstera deliciosa", "lily");
    await add(870_002, "MONSTERA DELICIOSA", "perennial");
    await waitForFirstRow(page, "MONSTERA DELICIOSA");
    expect(await ids(page)).not.toContain("870001");
    await page.getByLabel("Search by name").fill("zzz");
    await waitForText(page, "No plants match");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await rows(page).first().waitFor();
    expect([...queryIn(page)]).toEqual([]);
  });

  test("is not applied while a field has what is no id or no time", async () => {
    const page = await openTable();
    await openPanel(page);
    const fiveDigits = "12020-11-15T18:00";
    for (const [label, text] of Object.entries({ Id: "12x", From: fiveDigits, Before: fiveDigits })) {
      const field = panel(page).getByLabel(label);
      await field.fill(text);
      await apply(page);
      expect(await panel(page).locator("input:invalid").count()).toBe(1);
      expect([...queryIn(page)]).toEqual([]);
      await field.fill("");
    }
    await panel(page)
      .getByLabel("Id")
      .fill(` ${idOf(7)} `);
    await apply(page);
    await waitForText(page, "1 plant matches");
    expect(await ids(page)).toEqual([String(idOf(7))]);
    await openPanel(page);
    await panel(page).getByLabel("Id").fill("9223372036854775808");
    await apply(page);
    await waitForText(page, 'Parameter "id" must be an integer from');
  });

  test("by time is local in its fields, and has a preset, which keeps what else was entered", async () => {
    const page = await openTable();
    await openPanel(page);
    await panel(page).getByLabel("From").fill("2020-11-15T18:00");
    await panel(page).getByLabel("Before").fill("2020-11-16T18:00");
    await apply(page);
    await page.waitForURL(/\?since=2020-11-15T17%3A00%3A00\.000Z&until=/);
    await openPanel(page);
    expect(await panel(page).getByLabel("From").inputValue()).toBe("2020-11-15T18:00");
    await panel(page).getByLabel("Tag").fill("fern");
    const beforeMs = Date.now();
    await panel(page).getByRole("button", { name: "Last hour" }).click();
    await rows(page).first().waitFor();
    const afterMs = Date.now();
    expect([...queryIn(page).keys()]).toEqual(["tag", "since"]);
    const sinceMs = Date.parse(queryIn(page).get("since") ?? "");
    expect(sinceMs).toBeGreaterThan(beforeMs - hourMs - minuteMs);
    expect(sinceMs).toBeLessThanOrEqual(afterMs - hourMs);
    expect(sinceMs % minuteMs).toBe(0);
    await page.goBack();
    await removeFilter(page, "Created: from 15 Nov 2020, 18:00 before 16 Nov 2020, 18:00");
    await page.waitForURL(/\/plants$/);
  });

  test("that cannot be read says why in place of plants, until it is removed or cleared", async () => {
    await add(880_008, "Found without the time");
    const page = await open("/plants?name=880008&until=soon");
    await waitForText(page, "This filter cannot be read");
    await waitForText(page, 'Parameter "until" must be a time, such as');
    await page.getByRole("button", { name: "Export", exact: true }).click();
    await page.getByRole("button", { name: "Plants that match as NDJSON" }).click();
    await page.locator(".page-head .field-error", { hasText: 'Field "until" must be a time' }).waitFor();
    await removeFilter(page, "Created: before soon");
    const found = page.getByRole("link", { name: /^Plant 880008 / });
    await found.waitFor();
    expect([...queryIn(page)]).toEqual([["name", "880008"]]);
    await page.goBack();
    await waitForText(page, "This filter cannot be read");
    expect(await found.count()).toBe(0);
    expect(await rows(page).count()).toBe(0);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await rows(page).first().waitFor();
    expect([...queryIn(page)]).toEqual([]);
    expect(await focused(page)).toBe("Plants");
  });

  test("is also that of an export", async () => {
    const page = await openTable("/plants?tag=fern");
    const exportAs = async (format: string): Promise<string[]> => {
      const waiting = page.waitForEvent("download");
      await page.getByRole("button", { name: "Export", exact: true }).click();
      await page.getByRole("button", { name: `Plants that match as ${format}` }).click();
      return (await contentOf(await waiting)).toString().trim().split("\n");
    };
    const ndjson = await exportAs("NDJSON");
    expect(ndjson.filter((line) => !/^\{"id":.*"fern"/.test(line))).toEqual([]);
    // The variant in which no spreadsheet finds a formula.
    const [heading, ...csv] = await exportAs("CSV");
    expect(heading).toMatch(/^id,safe_name,safe_tag,/);
    const ferns = storedPlants(session.service.database).filter(({ tag }) => tag === "fern");
    expect(ferns.length).toBeGreaterThan(10);
    expect([ndjson.length, csv.length]).toEqual([ferns.length, ferns.length]);
  });
});

test("a click on a tag or a creator in the table filters by it too, until Back", async () => {
  const { secret } = await mintToken(session.service, {
    name: "clicked creator",
    scopes: ["plants:create"],
  });
  await post(session.service.url, '{"id":890003,"name":"Clicked iris","tag":"clicked"}', bearer(secret));
  await add(890_001, "Clicked aster", "clicked");
  await add(890_002, "Clicked rose", "other");
  const page = await openTable("/plants?name=clicked");
  await rows(page).getByRole("link", { name: "clicked", exact: true }).first().click();
  await page.waitForURL(/\/plants\?name=clicked&tag=clicked$/);
  await waitForProgressLine(page, "2 plants match");
  expect(await focused(page)).toBe("Plants");
  await rows(page).getByRole("link", { name: "clicked creator", exact: true }).click();
  await page.waitForURL(/\?name=clicked&tag=clicked&token=clicked\+creator$/);
  await waitForProgressLine(page, "1 plant matches");
  expect(await names(page)).toEqual(["Clicked iris"]);
  await page.goBack();
  await waitForProgressLine(page, "2 plants match");
  await page.goBack();
  await waitForProgressLine(page, "3 plants match");
});
