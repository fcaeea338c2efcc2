// The console's search, filters and exports of plants, in a browser.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { contentOf, describe, test } from "../support/browser.ts";
import { waitForHeading, waitForText, waitUntil } from "../support/console-session.ts";
import { mintToken } from "../support/operator-requests.ts";
import {
  focused,
  ids,
  linkIn,
  names,
  newPlants,
  rows,
  usePlantsTable,
  waitForFirstRow,
  waitForListEnd,
} from "../support/plants-table.ts";
import { post } from "../support/post-plants.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { bearer } from "../support/tokens.ts";

const session = usePlantsTable(2500);
const { add, open, openTable } = session;

const queryIn = (page: Page) => new URL(page.url()).searchParams;
const search = (page: Page) => page.getByLabel("Search by name or id");
const summary = (page: Page) => page.locator(".filters summary");

test("a search for an id leads to the plant that has it, and lists the names that contain it", async () => {
  const id = "-9223372036854775808";
  await add(id, "Found by its id", "fern");
  await add(880_002, `Named ${id}`);
  const page = await openTable();
  await search(page).pressSequentially(id);
  await waitForFirstRow(page, `Named ${id}`);
  await page.getByRole("link", { name: `Open the plant with the id ${id}` }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`/plants/${id}\\?name=${id}$`));
  await waitForHeading(page, "Found by its id");
  expect(await page.locator(".facts .exact").textContent()).toBe(id);
  // The plant is not in the list, so the heading gets the focus.
  await page.keyboard.press("Escape");
  await page.waitForURL(/\/plants\?name=/);
  await waitUntil(async () => (await focused(page)) === "Plants");
});

describe("a filter", () => {
  test("is in the address as it is typed, and applies after a reload and to new plants, until it is cleared", async () => {
    const page = await openTable();
    const entries = () => page.evaluate<number>("history.length");
    const before = await entries();
    await search(page).pressSequentially("MONSTERA deli");
    await page.waitForURL(/name=MONSTERA\+deli/);
    expect(await entries()).toBe(before);
    await summary(page).click();
    await page.getByLabel("Tag").fill("perennial");
    await page.keyboard.press("Enter");
    await page.waitForURL(/tag=perennial/);
    await page.reload();
    await rows(page).first().waitFor();
    expect(await search(page).inputValue()).toBe("MONSTERA deli");
    expect(await page.getByLabel("Tag").inputValue()).toBe("perennial");
    expect(new Set(await names(page))).toEqual(new Set(["Monstera deliciosa"]));
    await add(870_001, "Monstera deliciosa", "lily");
    await add(870_002, "MONSTERA DELICIOSA", "perennial");
    await newPlants(page).click();
    await waitForFirstRow(page, "MONSTERA DELICIOSA");
    expect(await ids(page)).not.toContain("870001");
    // A filter that finds nothing says when there is a plant that it finds.
    await search(page).fill("zzz");
    await page.keyboard.press("Enter");
    await waitForText(page, "No plants match");
    await add(870_100, "Zzz", "perennial");
    await newPlants(page).click();
    await waitForFirstRow(page, "Zzz");
    await search(page).fill("zzzz");
    await page.keyboard.press("Enter");
    await waitForText(page, "No plants match");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await waitForListEnd(page, /^100 of /);
    expect([...queryIn(page)]).toEqual([]);
    expect(await search(page).inputValue()).toBe("");
    expect(await focused(page)).toBe("Plants");
  });

  test("by time ends now, or is from and before a local time; a field that nobody touches keeps its text", async () => {
    const exact = "2020-11-15T17:00:30.500Z";
    const page = await open(`/plants?since=${exact}&tag=fern`);
    await rows(page).first().waitFor();
    expect(await page.getByLabel("From", { exact: true }).inputValue()).toBe("2020-11-15T18:00");
    await page.getByLabel("Before", { exact: true }).fill("2020-11-16T18:00");
    await page.waitForURL(/until=2020-11-16T17%3A00%3A00\.000Z/);
    await waitForText(page, "No plants match");
    expect(queryIn(page).get("since")).toBe(exact);
    expect(queryIn(page).get("tag")).toBe("fern");

    await page.getByLabel("Time").selectOption("Last hour");
    await rows(page).first().waitFor();
    expect(Object.fromEntries(queryIn(page))).toEqual({ tag: "fern", within: "1h" });
    expect(await page.getByLabel("From", { exact: true }).count()).toBe(0);
    await page.goBack();
    await waitForText(page, "No plants match");
    expect(await page.getByLabel("Time").inputValue()).toBe("own");
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await waitForListEnd(page, /^100 of /);
    expect(await focused(page)).toBe("Plants");
  });

  test("has fields that a phone shows, each where it can be reached", async () => {
    const page = await openTable();
    await page.setViewportSize({ width: 375, height: 667 });
    await summary(page).click();
    await page.getByLabel("Time").selectOption("From … before …");
    for (const label of ["Tag", "Sender", "Time", "From", "Before", "Order"]) {
      const field = page.locator(".filters").getByLabel(label, { exact: true });
      await field.focus();
      const box = await field.boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(375);
      expect(box?.y).toBeGreaterThanOrEqual(0);
      // What is under the bar at the bottom is not what a finger hits.
      const hit = `document.elementFromPoint(${(box?.x ?? 0) + 8}, ${(box?.y ?? 0) + 8})?.matches("input, select")`;
      expect(await page.evaluate<boolean>(hit), label).toBe(true);
    }
  });

  test("that cannot be read says why in place of plants, until it is cleared", async () => {
    const page = await open("/plants?name=880008&until=soon");
    await waitForText(page, "This filter cannot be read");
    await waitForText(page, 'Parameter "until" must be a time, such as');
    await page.getByRole("button", { name: "Export", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Export" }).click();
    await dialog.getByText('Field "until" must be a time').waitFor();
    await page.keyboard.press("Escape");
    expect(await rows(page).count()).toBe(0);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await rows(page).first().waitFor();
    expect([...queryIn(page)]).toEqual([]);
    expect(await focused(page)).toBe("Plants");
  });

  test("is also that of an export", async () => {
    const page = await openTable("/plants?tag=fern&order=oldest");
    // A list that is whole from the start moves no focus, and so does not scroll to its end.
    await waitForListEnd(page, /^\d+ plants$/);
    expect(await page.evaluate("document.activeElement.tagName")).toBe("BODY");
    const exportAs = async (format: string): Promise<string[]> => {
      const waiting = page.waitForEvent("download");
      await page.getByRole("button", { name: "Export", exact: true }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Format").selectOption(format);
      await dialog.getByRole("button", { name: "Export" }).click();
      const lines = (await contentOf(await waiting)).toString().trim().split("\n");
      await dialog.waitFor({ state: "detached" });
      return lines;
    };
    const ndjson = await exportAs("ndjson");
    expect(ndjson.filter((line) => !/^\{"id":.*"fern"/.test(line))).toEqual([]);
    // The variant in which no spreadsheet finds a formula.
    const [heading, ...csv] = await exportAs("csv-safe");
    expect(heading).toMatch(/^id,safe_name,safe_tag,/);
    const ferns = storedPlants(session.service.database).filter(({ tag }) => tag === "fern");
    expect(ferns.length).toBeGreaterThan(10);
    expect([ndjson.length, csv.length]).toEqual([ferns.length, ferns.length]);
  });
});

test("a click on a tag or a sender in the table filters by it too, until Back", async () => {
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
  await waitForListEnd(page, "2 plants");
  expect(await focused(page)).toBe("Plants");
  await rows(page).getByRole("link", { name: "clicked creator", exact: true }).click();
  await page.waitForURL(/\?name=clicked&tag=clicked&token=clicked\+creator$/);
  await waitForListEnd(page, "1 plant");
  expect(await names(page)).toEqual(["Clicked iris"]);
  await page.goBack();
  await waitForListEnd(page, "2 plants");
  await page.goBack();
  await waitForListEnd(page, "3 plants");
  // In the details too, where another list takes the place of the plant.
  await linkIn(rows(page).first()).click();
  await page.locator(".facts").getByRole("link", { name: "other", exact: true }).click();
  await page.waitForURL(/\/plants\?name=clicked&tag=other$/);
  await waitForListEnd(page, "1 plant");
  expect(await focused(page)).toBe("Plants");
});
