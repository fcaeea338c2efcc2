// The details of a plant in the console, and the keys, the focus and Back, in a browser.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { copiedBy, describe, test } from "../support/browser.ts";
import { waitForHeading, waitForText, waitUntil } from "../support/console-session.ts";
import { memoize } from "../support/memoize.ts";
import {
  focused,
  focusedRow,
  leaveWithTimers,
  names,
  rows,
  scrollPx,
  scrollTo,
  usePlantsTable,
} from "../support/plants-table.ts";
import { idOf } from "../support/seeded-store.ts";

const unsafeId = "9007199254740993";
const { add, open, openTable } = usePlantsTable(2500);

describe("one plant", () => {
  /** Opens the details of a plant whose id no double can hold. */
  async function openPlant(): Promise<Page> {
    await add(unsafeId, "Beyond doubles", "exact");
    const page = await openTable("/plants?tag=exact");
    await rows(page).first().click();
    await page.waitForURL(new RegExp(`/plants/${unsafeId}\\?`));
    await waitForHeading(page, "Beyond doubles");
    return page;
  }

  /** What its details show and copy. */
  const readPlant = memoize(async () => {
    const page = await openPlant();
    const id = await page.locator(".facts .exact").textContent();
    const copiedId = await copiedBy(page.getByRole("button", { name: "Copy id" }));
    await waitForText(page, "Copied");
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
    await back.click();
    await page.waitForURL(/\/plants\?tag=exact$/);
  });

  test("is closed by Escape", async () => {
    const page = await openPlant();
    await page.keyboard.press("Escape");
    await page.waitForURL(/\/plants\?tag=exact$/);
  });
});

test("a plant that does not exist says so", async () => {
  const page = await open("/plants/424242");
  await waitForHeading(page, "Plant not found");
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
  /** Where the table is after each of these keys, pressed one after the other from its first row on: each moves the focus. */
  const pressInTable = memoize(async () => {
    const page = await openTable("/plants?order=oldest");
    await rows(page).first().locator(".cell-name a").focus();
    const positions = new Map<string, { row: number; scrolledPx: number }>();
    for (const key of ["PageDown", "PageUp", "End", "Home"]) {
      const before = await focusedRow(page);
      await page.keyboard.press(key);
      await waitUntil(async () => !["", before].includes(await focusedRow(page)));
      positions.set(key, { row: Number(await focusedRow(page)), scrolledPx: await scrollPx(page) });
    }
    return positions;
  });

  // Row 2 is the first below the heading.
  test.each([
    ["PageDown", "moves the focus down by a page", 6, 19],
    ["PageUp", "moves the focus up by a page", 2, 2],
    ["End", "moves the focus to the last row", 200, 2501],
    ["Home", "moves the focus to the first row", 2, 2],
  ])("of %s %s", async (key, _, rowMin, rowMax) => {
    const row = (await pressInTable()).get(key)?.row;
    expect(row).toBeGreaterThanOrEqual(rowMin);
    expect(row).toBeLessThanOrEqual(rowMax);
  });

  test("of Home scrolls to the top", async () => {
    expect((await pressInTable()).get("Home")?.scrolledPx).toBe(0);
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

  test.each([
    ["ArrowDown opens the next plant", "ArrowDown", 5],
    ["ArrowUp opens the plant before", "ArrowUp", 3],
  ])("of %s while the details are open", async (_, key, seq) => {
    const page = await openTable("/plants?order=oldest");
    await rows(page).nth(3).click();
    await page.locator(".facts").waitFor();
    await page.keyboard.press(key);
    await page.waitForURL(new RegExp(`/plants/${idOf(seq)}\\?`));
    await page.locator(".facts .exact", { hasText: String(idOf(seq)) }).waitFor();
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

test("a position in the list is not saved for the page that was opened after it", async () => {
  const page = await openTable("/plants?order=oldest");
  const state = await page.evaluate<unknown>(`(async () => {
    ${leaveWithTimers}
    document.querySelector(".table-body").scrollTo(0, 6000);
    for (let frames = 0; frames < 10; frames++) await new Promise(requestAnimationFrame);
    await new Promise((done) => setTimeout(done));
    await leave();
    return history.state;
  })()`);
  expect(state).toBeNull();
});

async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let steps = 0; steps < 40; steps++) {
    await page.keyboard.press("Tab");
    const label = await focused(page);
    if (typeof name === "string" ? label === name : name.test(label)) return;
  }
  throw new Error(`the Tab key never reached ${name}`);
}

describe("with the keyboard only, a user", () => {
  /** Opens the table, and moves the focus to its search. */
  async function openSearch(path?: string): Promise<Page> {
    const page = await openTable(path);
    await page.keyboard.press("/");
    return page;
  }

  test("skips the navigation", async () => {
    const page = await open("/plants");
    await rows(page).first().waitFor();
    await page.keyboard.press("Tab");
    expect(await focused(page)).toBe("Skip to content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
  });

  test("is at the button of a menu that Escape closed", async () => {
    const page = await openTable();
    await tabTo(page, "Export");
    await page.keyboard.press("Enter");
    await waitUntil(async () => (await focused(page)).includes("NDJSON"));
    await page.keyboard.press("Escape");
    expect(await focused(page)).toBe("Export");
  });

  test("is at the button of the filter that was set", async () => {
    const page = await openSearch();
    await tabTo(page, "Filter");
    await page.keyboard.press("Enter");
    await waitUntil(() => page.evaluate<boolean>("document.activeElement.matches('input')"));
    await page.keyboard.type("fern");
    await page.keyboard.press("Enter");
    await waitUntil(async () => (await focused(page)) === "Filter");
  });

  test("is in the search once the last filter is removed", async () => {
    const page = await openSearch("/plants?tag=fern");
    await tabTo(page, "Remove the filter Tag: fern");
    await page.keyboard.press("Enter");
    await waitUntil(async () => (await focused(page)) === "Search by name or id");
  });

  test("reaches what a search found", async () => {
    const page = await openSearch();
    await page.keyboard.type("rosa");
    await page.waitForURL(/name=rosa/);
    await waitUntil(async () => (await names(page)).every((name) => name.startsWith("Rosa")));
    await tabTo(page, /^Rosa /);
    expect(await focusedRow(page)).toBe("2");
  });

  test("moves from row to row from a tag too", async () => {
    const page = await openSearch("/plants?tag=fern");
    await tabTo(page, "fern");
    expect(await page.evaluate("document.activeElement.closest('span').className")).toBe("cell-tag");
    await page.keyboard.press("ArrowDown");
    await waitUntil(async () => (await focusedRow(page)) === "3");
    await page.keyboard.press("ArrowUp");
    await waitUntil(async () => (await focusedRow(page)) === "2");
  });

  test("is at the row of the plant whose details Escape closed", async () => {
    const page = await openSearch("/plants?name=rosa");
    await tabTo(page, /^Rosa /);
    await page.keyboard.press("ArrowDown");
    await waitUntil(async () => (await focusedRow(page)) === "3");
    await page.keyboard.press("Enter");
    await page.locator(".facts").waitFor();
    await waitUntil(async () => (await focused(page)).startsWith("Rosa "));
    await tabTo(page, "Copy id");
    await page.keyboard.press("Escape");
    await page.locator(".facts").waitFor({ state: "detached" });
    await waitUntil(async () => (await focusedRow(page)) === "3");
  });
});
