// The details of a plant in the console, and the keys, the focus and Back, in a browser.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { copiedBy, describe, test } from "../support/browser.ts";
import { waitForHeading, waitForText, waitUntil } from "../support/console-session.ts";
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

// The title of the tab follows what the page shows.
const waitForTitle = (page: Page, title: string) =>
  waitUntil(async () => (await page.title()) === `${title} · Plant Store`);
const waitForFocusedRow = (page: Page, row: string) =>
  waitUntil(async () => (await focusedRow(page)) === row);
const search = "Search by name or id";

describe("the details of a plant", () => {
  test("show and copy its exact id and its JSON, and name the tab until they are closed", async () => {
    await add(unsafeId, "Beyond\ndoubles", "exact");
    const page = await openTable("/plants?tag=exact");
    await rows(page).first().click();
    await page.waitForURL(new RegExp(`/plants/${unsafeId}\\?tag=exact`));
    await waitForHeading(page, "Beyond↵doubles");
    await waitForTitle(page, "Beyond↵doubles");
    expect(await page.locator(".facts .exact").textContent()).toBe(unsafeId);
    expect(await copiedBy(page.getByRole("button", { name: "Copy id" }))).toBe(unsafeId);
    await waitForText(page, "Copied");
    expect(await copiedBy(page.getByRole("button", { name: "Copy JSON" }))).toBe(
      `{"id": ${unsafeId}, "name": "Beyond\\ndoubles", "tag": "exact"}`,
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

test("the keys of a list move the focus in the table", async () => {
  const page = await openTable("/plants?order=oldest");
  await rows(page).first().locator(".cell-name a").focus();
  /** The row that has the focus after the key, which moves it. */
  const press = async (key: string): Promise<number> => {
    const before = await focusedRow(page);
    await page.keyboard.press(key);
    await waitUntil(async () => !["", before].includes(await focusedRow(page)));
    return Number(await focusedRow(page));
  };
  // Row 2 is the first below the heading.
  const afterPage = await press("PageDown");
  expect(afterPage).toBeGreaterThanOrEqual(6);
  expect(afterPage).toBeLessThanOrEqual(19);
  expect(await press("PageUp")).toBe(2);
  expect(await press("End")).toBeGreaterThanOrEqual(200);
  expect(await press("Home")).toBe(2);
  expect(await scrollPx(page)).toBe(0);
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

test("a search and a position in the list are not those of the page that is opened after them", async () => {
  const page = await openTable("/plants?order=oldest");
  const opened = await page.evaluate<unknown>(`(async () => {
    ${leaveWithTimers}
    document.querySelector(".table-body").scrollTo(0, 6000);
    for (let frames = 0; frames < 10; frames++) await new Promise(requestAnimationFrame);
    await new Promise((done) => setTimeout(done));
    const search = document.querySelector("[type=search]");
    search.value = "rosa";
    search.dispatchEvent(new Event("input", { bubbles: true }));
    await leave();
    return { path: location.pathname + location.search, state: history.state };
  })()`);
  expect(opened).toEqual({ path: "/tokens", state: null });
});

describe("with the keyboard only, a user", () => {
  async function tabTo(page: Page, name: string | RegExp): Promise<void> {
    for (let steps = 0; steps < 40; steps++) {
      await page.keyboard.press("Tab");
      const label = await focused(page);
      if (typeof name === "string" ? label === name : name.test(label)) return;
    }
    throw new Error(`the Tab key never reached ${name}`);
  }

  test("searches for a plant, opens it and returns to its row", async () => {
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

  test("sets a filter, moves from row to row from a tag, and removes the filter", async () => {
    const page = await openTable();
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
    await page.waitForURL(/tag=fern/);
    await waitUntil(async () => (await focused(page)) === "Filter");
    await rows(page).first().getByRole("link", { name: "fern", exact: true }).waitFor();
    await tabTo(page, "fern");
    expect(await page.evaluate("document.activeElement.closest('span').className")).toBe("cell-tag");
    await page.keyboard.press("ArrowDown");
    await waitForFocusedRow(page, "3");
    await page.keyboard.press("ArrowUp");
    await waitForFocusedRow(page, "2");
    await page.keyboard.press("/");
    await tabTo(page, "Remove the filter Tag: fern");
    await page.keyboard.press("Enter");
    await waitUntil(async () => (await focused(page)) === search);
  });
});
