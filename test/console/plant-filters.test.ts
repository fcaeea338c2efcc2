// The console's search, filters and exports of plants, in a browser.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { hourMs, minuteMs } from "../../src/text/duration.ts";
import { contentOf, describe, test } from "../support/browser.ts";
import { waitForHeading, waitForText, waitUntil } from "../support/console-session.ts";
import { memoize } from "../support/memoize.ts";
import { mintToken, operatorPost } from "../support/operator-requests.ts";
import {
  focused,
  ids,
  leaveWithTimers,
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

describe("an id in the search", () => {
  const search = (page: Page, text: string) => page.getByLabel("Search by name or id").fill(text);
  const found = (page: Page, id: string | bigint) =>
    page.getByRole("link", { name: new RegExp(`^Plant ${id} `) });

  test("shows the plant that has it, before the names that contain it", async () => {
    await add(880_001, "Found by its id", "fern");
    await add(880_002, "Named 880001");
    const page = await openTable();
    await search(page, " 880001 ");
    await found(page, "880001").waitFor();
    expect(await found(page, "880001").textContent()).toBe("Plant 880001Found by its idfernEnter opens it");
    await search(page, "880001");
    await waitForFirstRow(page, "Named 880001");
    await waitForProgressLine(page, "1 plant matches");
  });

  test.each(["-9223372036854775808", "9223372036854775807"])(
    "of %s is exact when Enter opens the plant",
    async (id) => {
      // Not the id itself, part of which another test searches for.
      const name = `At the limit ${id.slice(0, 2)}`;
      await add(id, name);
      const page = await openTable();
      await search(page, id);
      await page.keyboard.press("Enter");
      await page.waitForURL(new RegExp(`/plants/${id}\\?name=`));
      await waitForHeading(page, name);
      expect(await page.locator(".facts .exact").textContent()).toBe(id);
      await page.keyboard.press("Escape");
      await page.waitForURL(/\/plants\?name=/);
      await waitUntil(async () => (await focused(page)).startsWith(`Plant ${id}`));
    },
  );

  test("that no plant has opens nothing, until a plant with it is stored", async () => {
    const page = await openTable();
    await search(page, "880003");
    await waitForText(page, "No plants match");
    await page.keyboard.press("Enter");
    await add(880_003, "Late");
    await found(page, "880003").waitFor();
    expect(new URL(page.url()).pathname).toBe("/plants");
    await page.getByText("No plants match").waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await waitForHeading(page, "Late");
  });

  const noIds = ["9223372036854775808", "12x", "1.0"];
  /** How many ids the page finds for each of these texts. */
  const searchNoIds = memoize(async () => {
    const page = await openTable();
    const found = new Map<string, number>();
    for (const text of noIds) {
      await search(page, text);
      await page.waitForURL((url) => url.searchParams.get("name") === text);
      await waitForText(page, "No plants match");
      found.set(text, await page.locator(".id-match").count());
    }
    return found;
  });

  test.each(noIds)("is not one if the text is %s", async (text) => {
    expect((await searchNoIds()).get(text)).toBe(0);
  });

  test("finds only a plant that matches the other filters", async () => {
    await add(880_004, "Tagged", "moss");
    const page = await openTable("/plants?tag=fern");
    await search(page, "880004");
    await waitForText(page, "No plants match");
    await page.getByRole("button", { name: "Remove the filter Tag: fern" }).click();
    await found(page, "880004").waitFor();
  });

  test("finds no plant while the other filters cannot be read", async () => {
    await add(880_008, "Found without the time");
    const page = await open("/plants?name=880008&since=never");
    await page.getByRole("button", { name: "Remove the filter Created: from never" }).click();
    await found(page, "880008").waitFor();
    await page.goBack();
    await waitForText(page, "This filter cannot be read");
    expect(await found(page, "880008").count()).toBe(0);
  });

  test("finds the plant of a filter by the same id with zeros in front", async () => {
    await add(880_007, "Found by both");
    const page = await openTable("/plants?id=00880007");
    await search(page, "880007");
    await found(page, "880007").waitFor();
  });

  test("finds no plant that a filter by another id leaves out", async () => {
    await add(880_005, "Left out");
    await add(880_006, "Let in");
    const page = await openTable("/plants?id=880006");
    await search(page, "880005");
    await waitForText(page, "No plants match");
    expect(await page.locator(".id-match a").count()).toBe(0);
    await page.getByRole("button", { name: "Remove the filter Id: 880006" }).click();
    await found(page, "880005").waitFor();
  });
});

describe("a filter", () => {
  const panel = (page: Page) => page.locator(".popover-panel");
  const openPanel = (page: Page) => page.getByRole("button", { name: "Filter", exact: true }).click();

  test("is in the address and applies after a reload", async () => {
    const page = await openTable();
    await page.getByLabel("Search by name").fill("MONSTERA deli");
    await page.waitForURL(/name=MONSTERA\+deli/);
    await openPanel(page);
    await panel(page).getByLabel("Tag").fill("perennial");
    await page.keyboard.press("Enter");
    await page.waitForURL(/tag=perennial/);
    await panel(page).waitFor({ state: "detached" });
    await page.reload();
    await rows(page).first().waitFor();
    expect(await page.getByLabel("Search by name").inputValue()).toBe("MONSTERA deli");
    expect(new Set(await names(page))).toEqual(new Set(["Monstera deliciosa"]));
  });

  test("that no plant matches can be cleared", async () => {
    const page = await open("/plants?name=zzz");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await rows(page).first().waitFor();
    expect(new URL(page.url()).search).toBe("");
  });

  /** Opens the table, and applies a filter by this text as an id. */
  async function filterById(id: string): Promise<Page> {
    const page = await openTable();
    await openPanel(page);
    await panel(page).getByLabel("Id").fill(id);
    await panel(page).getByRole("button", { name: "Apply" }).click();
    return page;
  }

  test("by id finds its plant", async () => {
    const page = await filterById(` ${idOf(7)} `);
    await waitForText(page, "1 plant matches");
    expect(await ids(page)).toEqual([String(idOf(7))]);
  });

  const fiveDigits = "12020-11-15T18:00";
  /** Applies each of these texts in its field of the panel, and collects how many fields are invalid then, and the query. */
  const applyInvalid = memoize(async () => {
    const page = await openTable();
    await openPanel(page);
    const applied = new Map<string, { invalid: number; query: string }>();
    for (const [label, text] of Object.entries({ Id: "12x", From: fiveDigits, Before: fiveDigits })) {
      const field = panel(page).getByLabel(label);
      await field.fill(text);
      await panel(page).getByRole("button", { name: "Apply" }).click();
      const invalid = await panel(page).locator("input:invalid").count();
      applied.set(label, { invalid, query: new URL(page.url()).search });
      await field.fill("");
    }
    return applied;
  });

  test("by id is not applied while it is no integer", async () => {
    expect((await applyInvalid()).get("Id")).toEqual({ invalid: 1, query: "" });
  });

  test.each(["From", "Before"])("by time is not applied with a year of five digits in %s", async (label) => {
    expect((await applyInvalid()).get(label)).toEqual({ invalid: 1, query: "" });
  });

  test("by id says why the service refuses it", async () => {
    const page = await filterById("9223372036854775808");
    await waitForText(page, 'Parameter "id" must be an integer from');
  });

  test("by time has a start and an end in local time", async () => {
    const page = await openTable();
    await openPanel(page);
    await panel(page).getByLabel("From").fill("2020-11-15T18:00");
    await panel(page).getByLabel("Before").fill("2020-11-16T18:00");
    await panel(page).getByRole("button", { name: "Apply" }).click();
    await page.waitForURL(/\?since=2020-11-15T17%3A00%3A00\.000Z&until=/);
    const chip = page.getByRole("button", {
      name: "Created: from 15 Nov 2020, 18:00 before 16 Nov 2020, 18:00",
    });
    await chip.waitFor();
    await openPanel(page);
    expect(await panel(page).getByLabel("From").inputValue()).toBe("2020-11-15T18:00");
    await chip.click();
    await page.waitForURL(/\/plants$/);
  });

  test.each([
    [
      "since=never",
      'Parameter "since" must be a time, such as 2026-11-15 or 2026-11-15T09:30Z, but is "never".',
    ],
    ["order=random", 'Parameter "order" must be newest or oldest, but is "random".'],
    ["tags=fern", /^There is no parameter "tags" here; expected .*, tag, /],
  ])("of %s in the address says what was expected", async (query, problem) => {
    const page = await open(`/plants?${query}`);
    await waitForText(page, "This filter cannot be read");
    await waitForText(page, problem);
    expect(await rows(page).count()).toBe(0);
  });

  test("that was just typed does not lead back from a page that was opened meanwhile", async () => {
    const page = await openTable();
    const path = await page.evaluate<string>(`(async () => {
      ${leaveWithTimers}
      const search = document.querySelector("[type=search]");
      search.value = "rosa";
      search.dispatchEvent(new Event("input", { bubbles: true }));
      await leave();
      return location.pathname + location.search;
    })()`);
    expect(path).toBe("/tokens");
  });

  test("that cannot be read can be cleared", async () => {
    const page = await open("/plants?since=never");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await rows(page).first().waitFor();
    expect(new URL(page.url()).search).toBe("");
    expect(await focused(page)).toBe("Plants");
  });

  test("that cannot be read says why nothing is exported", async () => {
    const page = await open("/plants?until=soon");
    await waitForText(page, "This filter cannot be read");
    await page.getByRole("button", { name: "Export", exact: true }).click();
    await page.getByRole("button", { name: "Plants that match as NDJSON" }).click();
    await page.locator(".page-head .field-error", { hasText: 'Field "until" must be a time' }).waitFor();
  });

  test("that cannot be read can be removed alone", async () => {
    const page = await open("/plants?tag=fern&until=soon");
    await page.getByRole("button", { name: "Remove the filter Created: before soon" }).click();
    await rows(page).first().waitFor();
    expect(new URL(page.url()).search).toBe("?tag=fern");
  });

  /** Enters a tag, and chooses the preset of the last hour. */
  const chooseLastHour = memoize(async () => {
    const page = await openTable();
    await openPanel(page);
    await panel(page).getByLabel("Tag").fill("fern");
    const beforeMs = Date.now();
    await panel(page).getByRole("button", { name: "Last hour" }).click();
    await page.waitForURL(/since=/);
    const afterMs = Date.now();
    return { query: new URL(page.url()).searchParams, beforeMs, afterMs };
  });

  test("by time has a preset that keeps what else was entered", async () => {
    const { query } = await chooseLastHour();
    expect([...query.keys()]).toEqual(["tag", "since"]);
    expect(query.get("tag")).toBe("fern");
  });

  test("by time has a preset for the last hour", async () => {
    const { query, beforeMs, afterMs } = await chooseLastHour();
    const sinceMs = Date.parse(query.get("since") ?? "");
    expect(sinceMs).toBeGreaterThan(beforeMs - hourMs - minuteMs);
    expect(sinceMs).toBeLessThanOrEqual(afterMs - hourMs);
    expect(sinceMs % minuteMs).toBe(0);
  });

  test("by time has a preset that replaces another time", async () => {
    const page = await open("/plants?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z");
    await openPanel(page);
    await panel(page).getByRole("button", { name: "7 days" }).click();
    await rows(page).first().waitFor();
    expect([...new URL(page.url()).searchParams.keys()]).toEqual(["since"]);
  });

  test("by creator offers the name of each token once", async () => {
    const { service } = session;
    const { token } = await mintToken(service, { name: "offered" });
    await operatorPost(service, `/api/tokens/${token.id}/rotate`, {});
    const page = await openTable();
    await openPanel(page);
    const list = await panel(page).getByLabel("Created by").getAttribute("list");
    const offered = page.locator(`datalist[id="${list}"] option[value="offered"]`);
    await offered.waitFor({ state: "attached" });
    expect(await offered.count()).toBe(1);
  });

  test("by creator asks for no names of tokens if the caller may not list them", async () => {
    const { secret } = await mintToken(session.service, { name: "looks", scopes: ["operator:read"] });
    const page = await open("/plants", { token: secret });
    await rows(page).first().waitFor();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await openPanel(page);
    await panel(page).getByLabel("Created by").fill("ops");
    await page.keyboard.press("Enter");
    await waitForText(page, "No plants match");
    expect(asked).toContain("/api/plants");
    expect(asked).not.toContain("/api/tokens");
  });

  /** What the page exports of the ferns, in each format. */
  const exportFerns = memoize(async () => {
    const page = await openTable("/plants?tag=fern");
    const ferns = storedPlants(session.service.database).filter(({ tag }) => tag === "fern").length;
    const texts: Record<string, string> = {};
    for (const format of ["NDJSON", "CSV"]) {
      const waiting = page.waitForEvent("download");
      await page.getByRole("button", { name: "Export", exact: true }).click();
      await page.getByRole("button", { name: `Plants that match as ${format}` }).click();
      texts[format] = (await contentOf(await waiting)).toString();
    }
    return { ferns, texts };
  });

  test.each([
    ["NDJSON", /^\{"id":.*"fern"/, 0],
    // The variant in which no spreadsheet finds a formula.
    ["CSV", /^id,safe_name,safe_tag,/, 1],
  ])("is also that of an export as %s", async (format, start, headings) => {
    const { ferns, texts } = await exportFerns();
    expect(ferns).toBeGreaterThan(10);
    expect(texts[format]).toMatch(start);
    expect(texts[format]?.trim().split("\n")).toHaveLength(headings + ferns);
  });
});

describe("a click", () => {
  const namedAndTagged = async (page: Page): Promise<void> => {
    await waitForFirstRow(page, "Clicked aster");
    await waitForProgressLine(page, "1 plant matches");
  };

  test("on a tag in the table filters by it too until Back", async () => {
    await add(890_001, "Clicked aster", "clicked");
    await add(890_002, "Clicked rose", "other");
    const page = await openTable("/plants?name=clicked");
    await rows(page).getByRole("link", { name: "clicked", exact: true }).click();
    await page.waitForURL(/\/plants\?name=clicked&tag=clicked$/);
    await namedAndTagged(page);
    expect(await focused(page)).toBe("Plants");
    await page.goBack();
    await waitForProgressLine(page, "2 plants match");
  });

  test("on a creator in the table filters by it too", async () => {
    const { secret } = await mintToken(session.service, {
      name: "clicked creator",
      scopes: ["plants:create"],
    });
    const headers = bearer(secret);
    await post(session.service.url, '{"id":890003,"name":"Sent aster"}', headers);
    await add(890_004, "Sent rose");
    const page = await openTable("/plants?name=sent");
    await rows(page).getByRole("link", { name: "clicked creator", exact: true }).click();
    await page.waitForURL(/\?name=sent&token=clicked\+creator$/);
    await waitForProgressLine(page, "1 plant matches");
    expect(await names(page)).toEqual(["Sent aster"]);
  });

  test.each([
    ["tag", "detailed", /\?name=detail&tag=detailed$/],
    ["creator", "preset-access", /\?name=detail&token=preset-access$/],
  ])("on a %s in the details closes them and filters by it too", async (_, text, address) => {
    await add(890_005, "Detail aster", "detailed");
    const page = await openTable("/plants?name=detail");
    await rows(page).first().locator(".cell-name").click();
    await page.locator(".facts").getByRole("link", { name: text, exact: true }).click();
    await page.waitForURL(address);
    await page.locator(".facts").waitFor({ state: "detached" });
    await waitForFirstRow(page, "Detail aster");
  });

  test("on an empty tag opens the plant, since no filter finds it", async () => {
    await add(890_006, "No tag to speak of", "");
    const page = await openTable("/plants?name=no tag to");
    await rows(page).locator(".cell-tag .tag").click();
    await page.locator(".facts").waitFor();
    expect(await page.locator(".facts").getByRole("link").count()).toBe(1);
  });
});
