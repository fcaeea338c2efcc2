// The console's page of the plants, in a browser: its table, its filters, its search and its exports.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { contentOf, copiedBy, describe, test } from "../support/browser.ts";
import { see, useConsole, waitUntil } from "../support/console-session.ts";
import { memoize } from "../support/memoize.ts";
import { mintToken, operatorPost } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { idOf } from "../support/seeded-store.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { bearer } from "../support/tokens.ts";

const seeded = 2500;
const unsafeId = "9007199254740993";
const session = useConsole(seeded);
const { open } = session;

const rows = (page: Page) => page.locator(".rows .row");
const names = (page: Page) => page.locator(".rows .cell-name").allTextContents();
const ids = (page: Page) => page.locator(".rows .cell-id").allTextContents();
/** Waits until the line under the table says that. */
const says = (page: Page, text: string) =>
  page.locator(".progress-line").getByText(text, { exact: true }).first().waitFor();
const scrollPx = (page: Page) => page.locator(".table-body").evaluate((body) => body.scrollTop);
const scrollTo = (page: Page, px: number) =>
  page.locator(".table-body").evaluate((body, top) => body.scrollTo(0, top), px);
const add = (id: number | string, name: string, tag?: string) =>
  post(session.running.url, `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`);

async function openTable(path = "/plants"): Promise<Page> {
  const page = await open(path);
  // The table waits while someone points at it, and an earlier test may have left the pointer there.
  await page.mouse.move(0, 0);
  await rows(page).first().waitFor();
  return page;
}

/** Waits until the first row has the name. */
const firstIs = (page: Page, name: string | RegExp) =>
  page.locator('.rows .row[aria-rowindex="2"] .cell-name', { hasText: name }).waitFor();

describe("the table", () => {
  test("loads more while scrolling until the first plant", async () => {
    const page = await openTable();
    const rowsMax = await page.evaluate<number>(`(async () => {
      const body = document.querySelector(".table-body");
      let rowsMax = 0;
      for (let atEnd = false; ; atEnd = document.querySelector("[role=table]").ariaRowCount !== "-1") {
        body.scrollTo(0, body.scrollHeight);
        await new Promise((resolve) => setTimeout(resolve, 10));
        rowsMax = Math.max(rowsMax, body.querySelectorAll(".row").length);
        if (atEnd) return rowsMax;
      }
    })()`);
    expect(rowsMax).toBeLessThan(80);
    await waitUntil(async () => (await ids(page)).at(-1) === String(idOf(1)));
    const counted = Number(await page.getByRole("table").getAttribute("aria-rowcount"));
    expect(Number(await rows(page).last().getAttribute("aria-rowindex"))).toBe(counted);
    expect(counted).toBeGreaterThan(seeded);
  });

  test("says how many plants there are", async () => {
    const page = await openTable();
    const before = storedPlants(session.running.database).length;
    await says(page, `${before.toLocaleString("en")} plants`);
    await add(-2, "One more elder");
    await says(page, `${(before + 1).toLocaleString("en")} plants`);
  });

  test("says how many plants match", async () => {
    const page = await openTable();
    await page.getByLabel("Search by name").fill("e");
    const stored = storedPlants(session.running.database);
    const matching = stored.filter(({ name }) => name.toLowerCase().includes("e")).length;
    await says(page, `${matching.toLocaleString("en")} plants match`);
  });

  test("adds up what the service counts in parts", async () => {
    const page = await openTable();
    await page.route("**/api/plants/count?*", (route) => {
      const isLast = route.request().url().includes("cursor=c1");
      return route.fulfill({ json: isLast ? { plants: "100" } : { plants: "4000", next: "c1" } });
    });
    await page.getByLabel("Search by name").fill("a");
    await says(page, "4,100 plants match");
  });

  const html = '<img src=x onerror="document.title=1">"><script>document.title=2</script>';
  const unusual: Record<string, string> = {
    HTML: html,
    "no characters": "",
    "a control character": "Rosa \u202eevil",
    "60,000 characters": "x".repeat(60_000),
  };
  /** The table of plants with such names: what it shows for each, and what became of the page. */
  const showUnusual = memoize(async () => {
    for (const [index, name] of Object.values(unusual).entries()) await add(81 + index, name, "unusual");
    const page = await openTable("/plants?tag=unusual&order=oldest");
    const shown = await names(page);
    const images = await page.locator("img[src=x]").count();
    return {
      shown: Object.keys(unusual).map((what, row) => [what, shown[row]] as const),
      images,
      title: await page.title(),
    };
  });

  test.each([
    ["HTML", html],
    ["no characters", "(empty name)"],
    ["a control character", "Rosa U+202Eevil"],
  ])("shows a name of %s as text", async (what, text) => {
    const { shown, images, title } = await showUnusual();
    expect(shown).toContainEqual([what, text]);
    expect(images).toBe(0);
    expect(title).toBe("Plants · Plant Store");
  });

  test("shortens a long name", async () => {
    const { shown } = await showUnusual();
    const [, name = ""] = shown.at(-1) ?? [];
    expect(name).toStartWith("xxx");
    expect(name.length).toBeLessThan(300);
  });

  test("reverses its order", async () => {
    const page = await openTable();
    await page.getByRole("button", { name: "reverse the order" }).click();
    await page.waitForURL(/order=oldest/);
    await waitUntil(async () => (await ids(page))[0] === String(idOf(1)));
  });
});

describe("new plants", () => {
  const announced = (page: Page) => page.getByRole("button", { name: "1 new plant" });

  test("are added on top", async () => {
    const page = await openTable();
    await add(500_002, "Fresh from the bed");
    await firstIs(page, "Fresh from the bed");
  });

  test("are announced while the table is scrolled", async () => {
    const page = await openTable();
    await scrollTo(page, 900);
    await waitUntil(async () => Number(await rows(page).nth(1).getAttribute("aria-rowindex")) > 4);
    const visible = (await rows(page).nth(5).textContent()) ?? "";
    await add(500_003, "While you were reading");
    await announced(page).waitFor();
    expect(await rows(page).nth(5).textContent()).toBe(visible);
    expect(await scrollPx(page)).toBe(900);
    await announced(page).click();
    await firstIs(page, "While you were reading");
    expect(await scrollPx(page)).toBe(0);
  });

  test("are announced while the keyboard is used", async () => {
    await add(500_004, "Second row");
    await add(500_005, "First row");
    const page = await openTable();
    await rows(page).first().locator(".cell-name a").focus();
    await page.keyboard.press("ArrowDown");
    await add(500_006, "Not now");
    await announced(page).waitFor();
    expect(await page.evaluate<string>("document.activeElement.textContent")).toBe("Second row");
    await page.getByLabel("Search by name").focus();
    await firstIs(page, "Not now");
  });

  test("are announced while someone points at a plant", async () => {
    const page = await openTable();
    const [first = ""] = await names(page);
    await rows(page).nth(2).hover();
    await add(500_007, "Nor now");
    await announced(page).waitFor();
    expect((await names(page))[0]).toBe(first);
    await page.locator("h1").hover();
    await firstIs(page, "Nor now");
  });

  test("are those that match the filter", async () => {
    const page = await open("/plants?tag=bromeliad&name=guz");
    await see(page, "No plants match");
    await add(500_010, "Guzmania", "lily");
    await add(500_011, "Tillandsia", "bromeliad");
    await add(500_012, "GUZMANIA", "bromeliad");
    await rows(page).first().waitFor();
    expect(await ids(page)).toEqual(["500012"]);
    await page.getByRole("button", { name: "Clear" }).click();
    await firstIs(page, "GUZMANIA");
  });

  test("of a flood are announced while the table is scrolled", async () => {
    const page = await openTable();
    const flood = (fromId: number) =>
      Promise.all(Array.from({ length: 300 }, (_, row) => add(fromId + row, `Flood ${fromId}`)));
    await flood(700_000);
    await firstIs(page, "Flood 700000");
    await scrollTo(page, 900);
    await flood(710_000);
    await page.getByRole("button", { name: "New plants" }).click();
    await firstIs(page, "Flood 710000");
    expect(await scrollPx(page)).toBe(0);
  });

  test("are not asked for while the tab is hidden", async () => {
    const page = await open("/plants", { alone: true });
    await rows(page).first().waitFor();
    await page.waitForResponse(/after=/);
    await page.clock.install();
    const setHidden = (hidden: boolean) =>
      page.evaluate(`void (Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true }),
        document.dispatchEvent(new Event("visibilitychange")))`);
    await setHidden(true);
    await add(500_020, "Unseen");
    let polls = 0;
    page.on("request", () => polls++);
    await page.clock.runFor(30_000);
    // One may have been under way.
    expect(polls).toBeLessThanOrEqual(1);
    await setHidden(false);
    await page.clock.resume();
    await firstIs(page, "Unseen");
    await page.context().close();
  });

  const answerNewPlants = (page: Page, status: number, error: number, message: string) =>
    page.route("**/api/plants?*after=*", (route) => route.fulfill({ status, json: { error, message } }));

  test("that cannot be read say why, until they can", async () => {
    const page = await openTable();
    await answerNewPlants(page, 503, 50302, "The store cannot be read right now.");
    await see(page, "The store cannot be read right now.");
    await page.unrouteAll();
    await add(500_030, "Readable again");
    await firstIs(page, "Readable again");
    expect(await page.locator(".error-notice").count()).toBe(0);
  });

  test("come after an outage", async () => {
    using proxy = await startTcpProxy(Number(new URL(session.running.operatorUrl).port));
    const page = await open("/plants", { origin: `http://127.0.0.1:${proxy.port}` });
    await rows(page).first().waitFor();
    proxy.refuse();
    await see(page, /No connection to the service since \d\d:\d\d:\d\d/);
    expect(await page.getByText("Connected", { exact: true }).count()).toBe(0);
    await add(500_031, "Meanwhile");
    proxy.accept();
    await firstIs(page, "Meanwhile");
    await waitUntil(async () => (await page.locator(".offline").count()) === 0);
    await see(page, "Connected");
    await page.goto("about:blank");
  });

  test("come in a restored store", async () => {
    const page = await openTable();
    await answerNewPlants(page, 410, 41001, "The cursor is of another store.");
    await page.waitForResponse(/api\/plants\?(?!.*after=)/);
    await page.unrouteAll();
    await add(500_032, "In the restored store");
    await firstIs(page, "In the restored store");
  });
});

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
    await firstIs(page, "Named 880001");
    await says(page, "1 plant matches");
  });

  test.each(["-9223372036854775808", "9223372036854775807"])(
    "of %s is exact when Enter opens the plant",
    async (id) => {
      await add(id, `At the limit ${id.slice(0, 2)}`);
      const page = await openTable();
      await search(page, id);
      await page.keyboard.press("Enter");
      await page.waitForURL(new RegExp(`/plants/${id}\\?name=`));
      await page.getByRole("heading", { name: "At the limit" }).waitFor();
      expect(await page.locator(".facts .exact").textContent()).toBe(id);
      await page.keyboard.press("Escape");
      await page.waitForURL(/\/plants\?name=/);
      await waitUntil(async () => (await focused(page)).startsWith(`Plant ${id}`));
    },
  );

  test("that no plant has opens nothing, until a plant with it is stored", async () => {
    const page = await openTable();
    await search(page, "880003");
    await see(page, "No plants match");
    await page.keyboard.press("Enter");
    await add(880_003, "Late");
    await found(page, "880003").waitFor();
    expect(new URL(page.url()).pathname).toBe("/plants");
    await page.getByText("No plants match").waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Late" }).waitFor();
  });

  const noIds = ["9223372036854775808", "12x", "1.0"];
  /** How many ids the page finds for each of these texts. */
  const searchNoIds = memoize(async () => {
    const page = await openTable();
    const found = new Map<string, number>();
    for (const text of noIds) {
      await search(page, text);
      await page.waitForURL((url) => url.searchParams.get("name") === text);
      await see(page, "No plants match");
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
    await see(page, "No plants match");
    await page.getByRole("button", { name: "Remove the filter Tag: fern" }).click();
    await found(page, "880004").waitFor();
  });

  test("finds no plant while the other filters cannot be read", async () => {
    await add(880_008, "Found without the time");
    const page = await open("/plants?name=880008&since=never");
    await page.getByRole("button", { name: "Remove the filter Created: from never" }).click();
    await found(page, "880008").waitFor();
    await page.goBack();
    await see(page, "This filter cannot be read");
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
    await see(page, "No plants match");
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
    await see(page, "1 plant matches");
    expect(await ids(page)).toEqual([String(idOf(7))]);
  });

  test("by id is not applied while it is no integer", async () => {
    const page = await filterById("12x");
    expect(await panel(page).locator("input:invalid").count()).toBe(1);
    expect(new URL(page.url()).search).toBe("");
  });

  test("by id says why the service refuses it", async () => {
    const page = await filterById("9223372036854775808");
    await see(page, 'Parameter "id" must be a whole number from');
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
    ["since=never", 'Parameter "since" must be a time such as 2026-11-15T09:30:00Z, but is "never".'],
    ["order=random", 'Parameter "order" must be newest or oldest, but is "random".'],
    ["tags=fern", /^There is no parameter "tags" here; expected .*, tag, /],
  ])("of %s in the address says what was expected", async (query, problem) => {
    const page = await open(`/plants?${query}`);
    await see(page, "This filter cannot be read");
    await see(page, problem);
    expect(await rows(page).count()).toBe(0);
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
    await see(page, "This filter cannot be read");
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

  test("by time has a preset that keeps what else was entered", async () => {
    const page = await openTable();
    await openPanel(page);
    await panel(page).getByLabel("Tag").fill("fern");
    await panel(page).getByRole("button", { name: "Last hour" }).click();
    await page.waitForURL(/tag=fern&since=/);
  });

  test("by time has a preset for the last hour", async () => {
    const page = await openTable();
    await openPanel(page);
    const beforeMs = Date.now();
    await panel(page).getByRole("button", { name: "Last hour" }).click();
    await page.waitForURL(/since=/);
    const sinceMs = Date.parse(new URL(page.url()).searchParams.get("since") ?? "");
    const hourMs = 3_600_000;
    const minuteMs = 60_000;
    expect(sinceMs).toBeGreaterThan(beforeMs - hourMs - minuteMs);
    expect(sinceMs).toBeLessThanOrEqual(Date.now() - hourMs);
    expect(sinceMs % minuteMs).toBe(0);
  });

  test("by time has a preset that replaces another time", async () => {
    const page = await open("/plants?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z");
    await openPanel(page);
    await panel(page).getByRole("button", { name: "7 days" }).click();
    await rows(page).first().waitFor();
    expect([...new URL(page.url()).searchParams.keys()]).toEqual(["since"]);
  });

  test("by sender offers the name of each token once", async () => {
    const { running } = session;
    const { token } = await mintToken(running, { name: "offered" });
    await operatorPost(running, `/api/tokens/${token.id}/rotate`, {});
    const page = await openTable();
    await openPanel(page);
    const list = await panel(page).getByLabel("Created by").getAttribute("list");
    const offered = page.locator(`datalist[id="${list}"] option[value="offered"]`);
    await offered.waitFor({ state: "attached" });
    expect(await offered.count()).toBe(1);
  });

  test("by sender asks for no names of tokens if the caller may not list them", async () => {
    const { secret } = await mintToken(session.running, { name: "looks", scopes: ["operator:read"] });
    const page = await open("/plants", { token: secret });
    await rows(page).first().waitFor();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await openPanel(page);
    await panel(page).getByLabel("Created by").fill("ops");
    await page.keyboard.press("Enter");
    await see(page, "No plants match");
    expect(asked).toContain("/api/plants");
    expect(asked).not.toContain("/api/tokens");
  });

  /** What the page exports of the ferns, in each format. */
  const exportFerns = memoize(async () => {
    const page = await openTable("/plants?tag=fern");
    const ferns = storedPlants(session.running.database).filter(({ tag }) => tag === "fern").length;
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
    await firstIs(page, "Clicked aster");
    await says(page, "1 plant matches");
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
    await says(page, "2 plants match");
  });

  test("on a sender in the table filters by it too", async () => {
    const { secret } = await mintToken(session.running, {
      name: "clicked sender",
      scopes: ["plants:create"],
    });
    const headers = bearer(secret);
    await post(session.running.url, '{"id":890003,"name":"Sent aster"}', headers);
    await add(890_004, "Sent rose");
    const page = await openTable("/plants?name=sent");
    await rows(page).getByRole("link", { name: "clicked sender", exact: true }).click();
    await page.waitForURL(/\?name=sent&token=clicked\+sender$/);
    await says(page, "1 plant matches");
    expect(await names(page)).toEqual(["Sent aster"]);
  });

  test.each([
    ["tag", "detailed", /\?name=detail&tag=detailed$/],
    ["sender", "preset-access", /\?name=detail&token=preset-access$/],
  ])("on a %s in the details filters by it too, and closes them", async (_, text, address) => {
    await add(890_005, "Detail aster", "detailed");
    const page = await openTable("/plants?name=detail");
    await rows(page).first().locator(".cell-name").click();
    await page.locator(".facts").getByRole("link", { name: text, exact: true }).click();
    await page.waitForURL(address);
    await page.locator(".facts").waitFor({ state: "detached" });
    await firstIs(page, "Detail aster");
  });

  test("on an empty tag opens the plant, since no filter finds it", async () => {
    await add(890_006, "No tag to speak of", "");
    const page = await openTable("/plants?name=no tag to");
    await rows(page).locator(".cell-tag .tag").click();
    await page.locator(".facts").waitFor();
    expect(await page.locator(".facts").getByRole("link").count()).toBe(1);
  });
});

describe("one plant", () => {
  /** Opens the details of a plant whose id no double can hold. */
  async function openPlant(): Promise<Page> {
    await add(unsafeId, "Beyond doubles", "exact");
    const page = await openTable("/plants?tag=exact");
    await rows(page).first().click();
    await page.waitForURL(new RegExp(`/plants/${unsafeId}\\?`));
    await page.getByRole("heading", { name: "Beyond doubles" }).waitFor();
    return page;
  }

  /** What its details show and copy. */
  const readPlant = memoize(async () => {
    const page = await openPlant();
    const id = await page.locator(".facts .exact").textContent();
    const copiedId = await copiedBy(page.getByRole("button", { name: "Copy id" }));
    await see(page, "Copied");
    const copiedJson = await copiedBy(page.getByRole("button", { name: "Copy JSON" }));
    return { id, copiedId, copiedJson };
  });

  test("has its exact id", async () => {
    expect((await readPlant()).id).toBe(unsafeId);
  });

  test("has its id copied", async () => {
    expect((await readPlant()).copiedId).toBe(unsafeId);
  });

  test("is copied as JSON", async () => {
    const json = `{"id": ${unsafeId}, "name": "Beyond doubles", "tag": "exact"}`;
    expect((await readPlant()).copiedJson).toBe(json);
  });

  test("has a long name whole only in its facts", async () => {
    await add(85, "x".repeat(60_000));
    const page = await open("/plants/85");
    await page.locator(".facts").waitFor();
    expect((await page.locator(".facts dd").nth(1).textContent())?.length).toBe(60_000);
    expect((await page.locator("#detail-title").boundingBox())?.height).toBeLessThan(30);
    expect(await page.title()).toMatch(/^x{20,80}.* · Plant Store$/);
  });

  test("has a plain way back where it covers the table", async () => {
    const page = await openPlant();
    const back = page.getByRole("button", { name: "Back to plants", exact: true });
    expect(await back.isVisible()).toBe(false);
    await page.setViewportSize({ width: 768, height: 800 });
    try {
      await back.click();
      await page.waitForURL(/\/plants\?tag=exact$/);
    } finally {
      await page.setViewportSize({ width: 1280, height: 600 });
    }
  });

  test("is closed by Escape", async () => {
    const page = await openPlant();
    await page.keyboard.press("Escape");
    await page.waitForURL(/\/plants\?tag=exact$/);
  });
});

test("a plant that does not exist says so", async () => {
  const page = await open("/plants/424242");
  await page.getByRole("heading", { name: "Plant not found" }).waitFor();
  expect(await page.title()).toBe("Plant not found · Plant Store");
});

test("the title of the tab names the plant while its details are open", async () => {
  await add(880_010, "In the\ntab", "titled");
  const page = await openTable("/plants?tag=titled");
  expect(await page.title()).toBe("Plants · Plant Store");
  await rows(page).first().click();
  await page.locator(".facts").waitFor();
  await waitUntil(async () => (await page.title()) === "In the↵tab · Plant Store");
  await page.keyboard.press("Escape");
  await waitUntil(async () => (await page.title()) === "Plants · Plant Store");
});

describe("a key", () => {
  test("of PageDown, PageUp, End and Home moves the focus by a page, or to an end", async () => {
    const page = await openTable("/plants?order=oldest");
    await rows(page).first().locator(".cell-name a").focus();
    await page.keyboard.press("PageDown");
    await waitUntil(async () => Number(await focusedRow(page)) > 5);
    expect(Number(await focusedRow(page))).toBeLessThan(20);
    await page.keyboard.press("PageUp");
    await waitUntil(async () => (await focusedRow(page)) === "2");
    await page.keyboard.press("End");
    await waitUntil(async () => Number(await focusedRow(page)) >= 200);
    await page.keyboard.press("Home");
    await waitUntil(async () => (await focusedRow(page)) === "2");
    expect(await scrollPx(page)).toBe(0);
  });

  test("/ moves the focus to the search", async () => {
    const page = await openTable();
    await page.keyboard.press("/");
    expect(await focused(page)).toBe("Search by name or id");
    expect(await page.getByLabel("Search by name or id").inputValue()).toBe("");
  });

  test("/ is typed in the search", async () => {
    const page = await openTable();
    await page.getByLabel("Search by name or id").focus();
    await page.keyboard.press("/");
    expect(await page.getByLabel("Search by name or id").inputValue()).toBe("/");
  });

  test("of an arrow opens the next plant while the details are open", async () => {
    const page = await openTable("/plants?order=oldest");
    await rows(page).nth(3).click();
    await page.locator(".facts").waitFor();
    for (const [key, seq] of [
      ["ArrowDown", 5],
      ["ArrowDown", 6],
      ["ArrowUp", 5],
    ] as const) {
      await page.keyboard.press(key);
      await page.waitForURL(new RegExp(`/plants/${idOf(seq)}\\?`));
      await page.locator(".facts .exact", { hasText: String(idOf(seq)) }).waitFor();
    }
    await waitUntil(() => page.evaluate<boolean>('document.activeElement.id === "detail-title"'));
  });
});

test("Back returns to the row of the plant whose details were open", async () => {
  const page = await openTable("/plants?order=oldest");
  await rows(page).nth(3).click();
  await page.locator(".facts").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.locator(".facts .exact", { hasText: String(idOf(5)) }).waitFor();
  await page.goBack();
  await page.waitForURL(/\/plants\?order=oldest$/);
  await waitUntil(async () => (await focusedRow(page)) === "6");
});

test("Back returns to the position in the list", async () => {
  const page = await openTable("/plants?order=oldest");
  await page.evaluate('document.querySelector(".table-body").scrollTo(0, 6000)');
  const savedRow = () => page.evaluate<number>("history.state?.position?.row ?? 0");
  await waitUntil(async () => (await savedRow()) > 100);
  await page.evaluate('document.querySelector(".table-body").scrollTo(0, 12000)');
  await waitUntil(async () => (await savedRow()) > 300);
  const row = await savedRow();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.locator(".latest a").first().waitFor();
  await page.goBack();
  const rowPx = 36;
  await waitUntil(async () => Math.floor((await scrollPx(page)) / rowPx) === row);
  await page.reload();
  await rows(page).first().waitFor();
  expect(await scrollPx(page)).toBe(0);
});

const focused = (page: Page) =>
  page.evaluate<string>(
    '(document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent).trim()',
  );
const focusedRow = (page: Page) =>
  page.evaluate<string>('document.activeElement.closest(".row")?.ariaRowIndex ?? ""');

async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let steps = 0; steps < 40; steps++) {
    await page.keyboard.press("Tab");
    const label = await focused(page);
    if (typeof name === "string" ? label === name : name.test(label)) return;
  }
  throw new Error(`the Tab key never reached ${name}`);
}

test("with the keyboard only, a user never loses the focus", async () => {
  const page = await openTable();
  await page.keyboard.press("Tab");
  expect(await focused(page)).toBe("Skip to content");
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
  await tabTo(page, "Export");
  await page.keyboard.press("Enter");
  await waitUntil(async () => (await focused(page)).includes("NDJSON"));
  await page.keyboard.press("Escape");
  expect(await focused(page)).toBe("Export");
  await tabTo(page, "Filter");
  await page.keyboard.press("Enter");
  await waitUntil(() => page.evaluate<boolean>("document.activeElement.matches('input')"));
  await page.keyboard.type("fern");
  await page.keyboard.press("Enter");
  await waitUntil(async () => (await focused(page)) === "Filter");
  await tabTo(page, "Remove the filter Tag: fern");
  await page.keyboard.press("Enter");
  await waitUntil(async () => (await focused(page)) === "Search by name or id");
  await page.keyboard.type("rosa");
  await page.waitForURL(/name=rosa/);
  await waitUntil(async () => (await names(page)).every((name) => name.startsWith("Rosa")));
  await tabTo(page, /^Rosa /);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await waitUntil(async () => (await focusedRow(page)) === "4");
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.closest('span').className")).toBe("cell-tag");
  await page.keyboard.press("ArrowUp");
  await waitUntil(async () => (await focusedRow(page)) === "3");
  await page.keyboard.press("ArrowDown");
  await waitUntil(async () => (await focusedRow(page)) === "4");
  await page.keyboard.press("Enter");
  await page.locator(".facts").waitFor();
  await waitUntil(async () => (await focused(page)).startsWith("Rosa "));
  await tabTo(page, "Copy id");
  await page.keyboard.press("Escape");
  await page.locator(".facts").waitFor({ state: "detached" });
  await waitUntil(async () => (await focusedRow(page)) === "4");
});
