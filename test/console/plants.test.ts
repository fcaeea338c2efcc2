// The console's table of plants, in a browser: what it shows of them, how new ones arrive, and the form for one.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { describe, test } from "../support/browser.ts";
import { textIn, waitForText, waitUntil } from "../support/console-session.ts";
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

const seeded = 1100;
const session = usePlantsTable(seeded);
const { add, open, openTable } = session;

describe("the table", () => {
  test("loads more while scrolling until the first plant, with which the reverse order begins", async () => {
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
    await page.getByRole("button", { name: "reverse the order" }).click();
    await page.waitForURL(/order=oldest/);
    await waitUntil(async () => (await ids(page))[0] === String(idOf(1)));
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

  test("shows any name as text, all of it only in the details", async () => {
    const html = '<img src=x onerror="document.title=1">"><script>document.title=2</script>';
    for (const [index, name] of [html, "", "Rosa \u202eevil", "x".repeat(60_000)].entries())
      await add(81 + index, name, "unusual");
    const page = await openTable("/plants?tag=unusual&order=oldest");
    const shown = await names(page);
    expect(shown).toEqual([html, "(empty name)", "Rosa U+202Eevil", expect.stringMatching(/^x{100}/)]);
    expect(shown[3]?.length).toBeLessThan(300);
    expect(await page.locator("img[src=x]").count()).toBe(0);
    expect(await page.title()).toBe("Plants · Plant Store");
    await rows(page).nth(3).click();
    await page.locator(".facts").waitFor();
    expect((await page.locator(".facts dd").nth(1).textContent())?.length).toBe(60_000);
    expect((await page.locator("#detail-title").textContent())?.length).toBeLessThan(100);
    await waitUntil(async () => /^x{20,80}.* · Plant Store$/.test(await page.title()));
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
});

describe("the form for a plant", () => {
  const unsafeId = "9007199254740993";
  const find = (id: bigint) => storedPlants(session.service.database).find((plant) => plant.id === id);

  async function openForm() {
    const page = await open("/");
    await page.getByRole("button", { name: "Add a plant" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    const enter = async (id: string, name: string, tag = ""): Promise<void> => {
      await dialog.getByLabel("Id").fill(id);
      await dialog.getByLabel("Name").fill(name);
      await dialog.getByLabel("Tag").fill(tag);
      await dialog.getByRole("button", { name: "Add plant" }).click();
    };
    /** Waits until the form says that, and expects it to be the description of the field. */
    const waitForErrorAt = async (label: string, error: string): Promise<void> => {
      await dialog.getByText(error).waitFor();
      const descriptionId = await dialog.getByLabel(label).getAttribute("aria-describedby");
      expect(await textIn(page, `[id="${descriptionId}"]`)).toContain(error);
    };
    const focusedField = () => page.evaluate<string>("document.activeElement.name");
    return { page, dialog, enter, waitForErrorAt, focusedField };
  }

  test("stores a plant as it was entered, once nothing is wrong with it", async () => {
    await add(7, "First");
    const { page, enter, waitForErrorAt, focusedField } = await openForm();
    expect(await focusedField()).toBe("id");
    await enter("12 apples", "Fern");
    await waitForErrorAt("Id", 'but is the string "12 apples"');
    await enter("7", "Other");
    await waitForErrorAt("Id", "already belongs to a plant with a different name");
    expect(await focusedField()).toBe("id");
    await enter(unsafeId, "");
    await waitForErrorAt("Name", "is empty");
    expect(find(BigInt(unsafeId))).toBeUndefined();
    await enter(unsafeId, 'O\'Fern "quoted"', "indoor");
    await waitForText(page, "The plant is stored.");
    expect(find(BigInt(unsafeId))).toMatchObject({ name: 'O\'Fern "quoted"', tag: "indoor" });
  });

  test("generates an id", async () => {
    const { page, dialog } = await openForm();
    await dialog.getByRole("button", { name: "Generate" }).click();
    const id = BigInt(await dialog.getByLabel("Id").inputValue());
    expect(id).toBeLessThan(2n ** 63n);
    await dialog.getByLabel("Name").fill("Generated");
    await page.keyboard.press("Enter");
    await waitForText(page, "The plant is stored.");
    expect(find(id)?.name).toBe("Generated");
  });

  test("says that a plant is stored already, even if its id has an exponent", async () => {
    await add(1000, "A thousand");
    const { page, enter } = await openForm();
    await enter("1e3", "A thousand");
    await waitForText(page, "This plant is already stored");
  });
});
