// The console's table of plants, in a browser: what it shows of them, and how new ones arrive.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { describe, test } from "../support/browser.ts";
import { waitForText, waitUntil } from "../support/console-session.ts";
import {
  ids,
  names,
  rows,
  scrollPx,
  scrollTo,
  usePlantsTable,
  waitForFirstRow,
  waitForProgressLine,
} from "../support/plants-table.ts";
import { idOf } from "../support/seeded-store.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const seeded = 1100;
const session = usePlantsTable(seeded);
const { add, open, openTable } = session;

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

  test("says how many plants there are, and how many match", async () => {
    const page = await openTable();
    const stored = storedPlants(session.service.database);
    await waitForProgressLine(page, `${stored.length.toLocaleString("en")} plants`);
    await add(-2, "One more elder");
    await waitForProgressLine(page, `${(stored.length + 1).toLocaleString("en")} plants`);
    await page.getByLabel("Search by name").fill("e");
    const matching = stored.filter(({ name }) => name.toLowerCase().includes("e")).length + 1;
    await waitForProgressLine(page, `${matching.toLocaleString("en")} plants match`);
  });

  test("adds up what the service counts in parts", async () => {
    const page = await openTable();
    await page.route("**/api/plants/count?*", (route) => {
      const isLast = route.request().url().includes("cursor=c1");
      return route.fulfill({ json: isLast ? { plants: "100" } : { plants: "4000", next: "c1" } });
    });
    await page.getByLabel("Search by name").fill("a");
    await waitForProgressLine(page, "4,100 plants match");
  });

  test("shows any name as text, and not too much of it", async () => {
    const html = '<img src=x onerror="document.title=1">"><script>document.title=2</script>';
    for (const [index, name] of [html, "", "Rosa \u202eevil", "x".repeat(60_000)].entries())
      await add(81 + index, name, "unusual");
    const page = await openTable("/plants?tag=unusual&order=oldest");
    const shown = await names(page);
    expect(shown).toEqual([html, "(empty name)", "Rosa U+202Eevil", expect.stringMatching(/^x{100}/)]);
    expect(shown[3]?.length).toBeLessThan(300);
    expect(await page.locator("img[src=x]").count()).toBe(0);
    expect(await page.title()).toBe("Plants · Plant Store");
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

  test("are added on top, but only announced while the table is read", async () => {
    await add(500_002, "Second row");
    const page = await openTable();
    await add(500_003, "Fresh from the bed");
    await waitForFirstRow(page, "Fresh from the bed");

    await scrollTo(page, 900);
    await waitUntil(async () => Number(await rows(page).nth(1).getAttribute("aria-rowindex")) > 4);
    const visible = (await rows(page).nth(5).textContent()) ?? "";
    await add(500_004, "While it was scrolled");
    await announced(page).waitFor();
    expect(await rows(page).nth(5).textContent()).toBe(visible);
    expect(await scrollPx(page)).toBe(900);
    await announced(page).click();
    await waitForFirstRow(page, "While it was scrolled");
    expect(await scrollPx(page)).toBe(0);

    await page.locator("h1").hover();
    await rows(page).first().locator(".cell-name a").focus();
    await page.keyboard.press("ArrowDown");
    await add(500_005, "While the keyboard was used");
    await announced(page).waitFor();
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Fresh from the bed");
    await page.getByLabel("Search by name").focus();
    await waitForFirstRow(page, "While the keyboard was used");

    await rows(page).nth(2).hover();
    await add(500_006, "While someone pointed");
    await announced(page).waitFor();
    expect((await names(page))[0]).toBe("While the keyboard was used");
    await page.locator("h1").hover();
    await waitForFirstRow(page, "While someone pointed");
  });

  test("are those that match the filter", async () => {
    const page = await open("/plants?tag=bromeliad&name=guz");
    await waitForText(page, "No plants match");
    await add(500_010, "Guzmania", "lily");
    await add(500_011, "Tillandsia", "bromeliad");
    await add(500_012, "GUZMANIA", "bromeliad");
    await rows(page).first().waitFor();
    expect(await ids(page)).toEqual(["500012"]);
    await page.getByRole("button", { name: "Clear" }).click();
    await waitForFirstRow(page, "GUZMANIA");
  });

  test("of a flood are announced while the table is scrolled", async () => {
    const page = await openTable();
    // More than a page.
    const flood = (fromId: number) =>
      Promise.all(Array.from({ length: 210 }, (_, row) => add(fromId + row, `Flood ${fromId}`)));
    await flood(700_000);
    await waitForFirstRow(page, "Flood 700000");
    await scrollTo(page, 900);
    await flood(710_000);
    await page.getByRole("button", { name: "New plants" }).click();
    await waitForFirstRow(page, "Flood 710000");
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
    await waitForFirstRow(page, "Unseen");
    await page.context().close();
  });

  test("that cannot be read say why until they can, also in a restored store", async () => {
    const answer = (status: number, error: number, message: string) =>
      page.route("**/api/plants?*after=*", (route) => route.fulfill({ status, json: { error, message } }));
    const page = await openTable();
    await answer(503, 50302, "The store cannot be read right now.");
    await waitForText(page, "The store cannot be read right now.");
    await page.unrouteAll();
    await add(500_030, "Readable again");
    await waitForFirstRow(page, "Readable again");
    expect(await page.locator(".error-notice").count()).toBe(0);

    await answer(410, 41001, "The cursor is of another store.");
    await page.waitForResponse(/api\/plants\?(?!.*after=)/);
    await page.unrouteAll();
    await add(500_032, "In the restored store");
    await waitForFirstRow(page, "In the restored store");
  });

  test("come after an outage", async () => {
    using proxy = await startTcpProxy(Number(new URL(session.service.operatorUrl).port));
    const page = await open("/plants", { origin: `http://127.0.0.1:${proxy.port}` });
    await rows(page).first().waitFor();
    proxy.refuse();
    await waitForText(page, /No connection to the service since \d\d:\d\d:\d\d/);
    expect(await page.getByText("Connected", { exact: true }).count()).toBe(0);
    await add(500_031, "Meanwhile");
    proxy.accept();
    await waitForFirstRow(page, "Meanwhile");
    await waitUntil(async () => (await page.locator(".offline").count()) === 0);
    await waitForText(page, "Connected");
    await page.goto("about:blank");
  });
});
