// The console's page of plants, in a browser: the table, how new ones arrive, the details of one, the keys, Back, and the form
// for one. The filters have a file of their own.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { copiedBy, describe, test } from "../support/browser.ts";
import { textIn, waitForHeading, waitForText, waitUntil } from "../support/console-session.ts";
import {
  focused,
  focusedRow,
  ids,
  names,
  rows,
  scrollPx,
  scrollTo,
  usePlantsTable,
  waitForFirstRow,
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
    // Tab leads back to the same plant.
    const reached = page.locator('.rows .cell-name a[tabindex="0"]');
    expect(await reached.textContent()).toBe("Fresh from the bed");

    await rows(page).nth(2).hover();
    await add(500_006, "While someone pointed");
    await announced(page).waitFor();
    expect((await names(page))[0]).toBe("While the keyboard was used");
    await page.locator("h1").hover();
    await waitForFirstRow(page, "While someone pointed");
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

// The title of the tab follows what the page shows.
const waitForTitle = (page: Page, title: string) =>
  waitUntil(async () => (await page.title()) === `${title} · Plant Store`);
const waitForFocusedRow = (page: Page, row: string) =>
  waitUntil(async () => (await focusedRow(page)) === row);
const search = "Search by name or id";

describe("the details of a plant", () => {
  const exactId = "9007199254740995";

  test("show and copy its exact id and its JSON, and name the tab until they are closed", async () => {
    await add(exactId, "Beyond\ndoubles", "exact");
    const page = await openTable("/plants?tag=exact");
    await rows(page).first().click();
    await page.waitForURL(new RegExp(`/plants/${exactId}\\?tag=exact`));
    await waitForHeading(page, "Beyond↵doubles");
    await waitForTitle(page, "Beyond↵doubles");
    expect(await page.locator(".facts .exact").textContent()).toBe(exactId);
    expect(await copiedBy(page.getByRole("button", { name: "Copy id" }))).toBe(exactId);
    await waitForText(page, "Copied");
    expect(await copiedBy(page.getByRole("button", { name: "Copy JSON" }))).toBe(
      `{"id": ${exactId}, "name": "Beyond\\ndoubles", "tag": "exact"}`,
    );
    await page.keyboard.press("Escape");
    await page.waitForURL(/\/plants\?tag=exact$/);
    await waitForTitle(page, "Plants");
    await rows(page).first().click();
    await page.setViewportSize({ width: 768, height: 800 });
    await page.getByRole("button", { name: "Back to plants", exact: true }).click();
    await page.waitForURL(/\/plants\?tag=exact$/);
  });

  test("of a plant that does not exist say so", async () => {
    const page = await open("/plants/424242");
    await waitForHeading(page, "Plant not found");
    await waitForTitle(page, "Plant not found");
    expect(await page.locator("nav [aria-current=page]").allInnerTexts()).toEqual(["Plants"]);
  });

  test("are followed by those of the next plants with the arrow keys, until Back", async () => {
    const page = await openTable("/plants?order=oldest");
    await rows(page).nth(3).click();
    await page.locator(".facts").waitFor();
    for (const [key, seq] of [
      ["ArrowUp", 3],
      ["ArrowDown", 4],
      ["ArrowDown", 5],
    ] as const) {
      await page.keyboard.press(key);
      await page.waitForURL(new RegExp(`/plants/${idOf(seq)}\\?`));
      await page.locator(".facts .exact", { hasText: String(idOf(seq)) }).waitFor();
      await waitUntil(() => page.evaluate<boolean>('document.activeElement.id === "detail-title"'));
    }
    await page.goBack();
    await page.waitForURL(/\/plants\?order=oldest$/);
    await waitForFocusedRow(page, "6");
  });
});

test("Back returns to the position in the list, and a reload to its top", async () => {
  const page = await openTable("/plants?order=oldest");
  await scrollTo(page, 6000);
  const savedRow = () => page.evaluate<number>("history.state?.position?.row ?? 0");
  await waitUntil(async () => (await savedRow()) > 100);
  await scrollTo(page, 12_000);
  await waitUntil(async () => (await savedRow()) > 300);
  const row = await savedRow();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.locator(".latest a").first().waitFor();
  await page.goBack();
  const rowPx = (await rows(page).first().boundingBox())?.height ?? 0;
  await waitUntil(async () => Math.floor((await scrollPx(page)) / rowPx) === row);
  await page.reload();
  await rows(page).first().waitFor();
  expect(await scrollPx(page)).toBe(0);
});

async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let steps = 0; steps < 40; steps++) {
    await page.keyboard.press("Tab");
    const label = await focused(page);
    if (typeof name === "string" ? label === name : name.test(label)) return;
  }
  throw new Error(`the Tab key never reached ${name}`);
}

test("with the keyboard only, a user searches for a plant, opens it and returns to its row", async () => {
  const page = await openTable();
  await page.keyboard.press("Tab");
  expect(await focused(page)).toBe("Skip to content");
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
  await page.keyboard.press("/");
  expect(await focused(page)).toBe(search);
  await page.keyboard.type("/rosa");
  expect(await page.getByLabel(search).inputValue()).toBe("/rosa");
  await page.getByLabel(search).fill("rosa");
  await page.waitForURL(/name=rosa/);
  await waitUntil(async () => (await names(page)).every((name) => name.startsWith("Rosa")));
  await tabTo(page, /^Rosa /);
  expect(await focusedRow(page)).toBe("2");
  await page.keyboard.press("ArrowDown");
  await waitForFocusedRow(page, "3");
  await page.keyboard.press("Enter");
  await page.locator(".facts").waitFor();
  await waitUntil(async () => (await focused(page)).startsWith("Rosa "));
  await tabTo(page, "Copy id");
  await page.keyboard.press("Escape");
  await page.locator(".facts").waitFor({ state: "detached" });
  await waitForFocusedRow(page, "3");
});

test("the form for a plant stores it as it was entered, once nothing is wrong with it", async () => {
  const unsafeId = "9007199254740993";
  const find = (id: bigint) => storedPlants(session.service.database).find((plant) => plant.id === id);
  await add(7, "First");
  await add(1000, "A thousand");
  const page = await open("/");
  await page.getByRole("button", { name: "Add a plant" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  const focusedField = () => page.evaluate<string>("document.activeElement.name");
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
  await enter("1e3", "A thousand");
  await waitForText(page, "This plant is already stored");

  await dialog.getByRole("button", { name: "Generate" }).click();
  const generated = BigInt(await dialog.getByLabel("Id").inputValue());
  await dialog.getByLabel("Name").fill("Generated");
  await page.keyboard.press("Enter");
  await waitForText(page, "The plant is stored.");
  expect(generated).toBeLessThan(2n ** 63n);
  expect(find(generated)?.name).toBe("Generated");
});
