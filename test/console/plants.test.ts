// The console's page of plants, in a browser: the table, how new ones arrive, the details of one, the keys, Back, and the form
// for one. The filters have a file of their own.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { copiedBy, describe, test } from "../support/browser.ts";
import { waitForHeading, waitForText, waitUntil } from "../support/console-session.ts";
import {
  focused,
  focusedRow,
  ids,
  linkIn,
  names,
  newPlants,
  rows,
  usePlantsTable,
  waitForFirstRow,
  waitForListEnd,
} from "../support/plants-table.ts";
import { idOf } from "../support/seeded-store.ts";
import { storedPlants } from "../support/stored-plants.ts";

const seeded = 1100;
const session = usePlantsTable(seeded);
const { add, open, openTable } = session;

describe("the table", () => {
  test("has a hundred plants and more on request, up to a thousand", async () => {
    const page = await openTable();
    await waitForListEnd(page, /^100 of 1,1\d\d plants$/);
    const more = page.getByRole("button", { name: "Show more" });
    for (let shown = 200; shown < 1000; shown += 100) {
      await more.click();
      await waitForListEnd(page, new RegExp(`^${shown} of 1,1`));
      expect(await focused(page)).toBe("Show more");
    }
    await more.click();
    await waitForListEnd(page, /These are the newest 1,000. Search, filter by time, or export.$/);
    expect(await focused(page)).toMatch(/^1,000 of 1,1\d\d plants/);
    expect(await rows(page).count()).toBe(1000);
    expect(await more.count()).toBe(0);
    await page.getByText("Filter", { exact: true }).click();
    await page.getByLabel("Order").selectOption("Oldest first");
    await page.waitForURL(/order=oldest/);
    const first = rows(page).first();
    await first.locator(".exact", { hasText: String(idOf(1)) }).waitFor();
    // Nine tables of up to a thousand rows take a browser minutes, if it has a tenth of a core.
  }, 300_000);

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
    await linkIn(rows(page).nth(3)).click();
    await page.locator(".facts").waitFor();
    expect((await page.locator(".facts dd").nth(1).textContent())?.length).toBe(60_000);
    expect((await page.locator("#detail-title").textContent())?.length).toBeLessThan(100);
  });

  test("does not move by itself, nor in an outage: new plants are announced, and shown by a click", async () => {
    const page = await openTable();
    await page.getByRole("button", { name: "Show more" }).click();
    await waitUntil(async () => (await rows(page).count()) === 200);
    const before = await ids(page);
    await rows(page).nth(150).scrollIntoViewIfNeeded();
    const placeOf = async () => (await rows(page).nth(150).boundingBox())?.y;
    const place = await placeOf();
    await page.route("**/livez", (route) => route.abort());
    await page.route("**/api/**", (route) => route.abort());
    await page.locator(".offline").waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.locator(".offline").waitFor({ state: "detached" });
    expect(await placeOf()).toBe(place);
    await add(500_001, "Fresh from the bed");
    await newPlants(page).waitFor();
    await add(500_002, "While someone reads");
    expect(await placeOf()).toBe(place);
    expect(await ids(page)).toEqual(before);
    // The button is in view wherever the list is scrolled to.
    await newPlants(page).click();
    await waitForFirstRow(page, "While someone reads");
    expect(await newPlants(page).count()).toBe(0);
    expect(await focused(page)).toBe("Plants");
    expect((await ids(page)).slice(0, 3)).toEqual(["500002", "500001", before[0] ?? ""]);
  });
});

// The title of the tab follows what the page shows.
const waitForTitle = (page: Page, title: string) =>
  waitUntil(async () => (await page.title()) === `${title} · Plant Store`);
const waitForFocusedRow = (page: Page, id: bigint | string) =>
  waitUntil(async () => (await focusedRow(page)) === String(id));
const search = "Search by name or id";

describe("the details of a plant", () => {
  const exactId = "9007199254740995";

  test("show and copy its exact id and its JSON, and name the tab until they are closed", async () => {
    await add(exactId, "Beyond\ndoubles", "exact");
    const page = await openTable("/plants?tag=exact");
    await linkIn(rows(page).first()).click();
    await page.waitForURL(new RegExp(`/plants/${exactId}\\?tag=exact`));
    await waitForHeading(page, "Beyond↵doubles");
    await waitForTitle(page, `Plant ${exactId}`);
    expect(await page.locator(".facts .exact").textContent()).toBe(exactId);
    expect(await copiedBy(page.getByRole("button", { name: "Copy id" }))).toBe(exactId);
    await waitForText(page, "Copied");
    expect(await copiedBy(page.getByRole("button", { name: "Copy JSON" }))).toBe(
      `{"id": ${exactId}, "name": "Beyond\\ndoubles", "tag": "exact"}`,
    );
    await page.keyboard.press("Escape");
    await page.waitForURL(/\/plants\?tag=exact$/);
    await waitForTitle(page, "Plants");
    await waitForFocusedRow(page, exactId);
    await linkIn(rows(page).first()).click();
    await page.setViewportSize({ width: 768, height: 800 });
    await page.getByRole("button", { name: "Close details" }).click();
    await page.waitForURL(/\/plants\?tag=exact$/);
    await waitForFocusedRow(page, exactId);
    await open("/plants/424242");
    await waitForHeading(page, "Plant not found");
    await waitForTitle(page, "Plant not found");
    expect(await page.locator("nav [aria-current=page]").allInnerTexts()).toEqual(["Plants"]);
  });

  test("are followed by those of the next plants with the arrow keys, until Back, which keeps the rows", async () => {
    const page = await openTable("/plants?order=oldest");
    await page.getByRole("button", { name: "Show more" }).click();
    await waitUntil(async () => (await rows(page).count()) === 200);
    await linkIn(rows(page).nth(150)).click();
    await page.locator(".facts").waitFor();
    const scrollPx = () => page.evaluate<number>("scrollY");
    const place = await scrollPx();
    expect(place).toBeGreaterThan(1000);
    for (const [key, seq] of [
      ["ArrowUp", 150],
      ["ArrowDown", 151],
      ["ArrowDown", 152],
    ] as const) {
      await page.keyboard.press(key);
      await page.waitForURL(new RegExp(`/plants/${idOf(seq)}\\?`));
      await page.locator(".facts .exact", { hasText: String(idOf(seq)) }).waitFor();
      await waitUntil(() => page.evaluate<boolean>('document.activeElement.id === "detail-title"'));
    }
    await page.goBack();
    await page.waitForURL(/\/plants\?order=oldest$/);
    await waitForFocusedRow(page, idOf(152));
    expect(await rows(page).count()).toBe(200);
    expect(Math.abs((await scrollPx()) - place)).toBeLessThan(100);
  });
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
  await tabTo(page, search);
  await page.keyboard.type("rosa");
  await page.waitForURL(/name=rosa/);
  await waitUntil(async () => (await names(page)).every((name) => name.startsWith("Rosa")));
  await tabTo(page, /^Rosa /);
  const opened = await focusedRow(page);
  await page.keyboard.press("Enter");
  await page.locator(".facts").waitFor();
  await waitUntil(async () => (await focused(page)).startsWith("Rosa "));
  await tabTo(page, "Copy id");
  await page.keyboard.press("Escape");
  await page.locator(".facts").waitFor({ state: "detached" });
  await waitForFocusedRow(page, opened);
});

test("the form for a plant stores it as it was entered, once nothing is wrong with it", async () => {
  const unsafeId = "9007199254740993";
  const find = (id: bigint) => storedPlants(session.service.database).find((plant) => plant.id === id);
  await add(7, "First");
  await add(1000, "A thousand");
  const page = await open("/");
  // As in Safari, a click gives no focus.
  await page.evaluate("addEventListener('mousedown', (event) => event.preventDefault(), true)");
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
  const waitForError = (error: string) => dialog.getByRole("alert").getByText(error).waitFor();

  expect(await focusedField()).toBe("id");
  await enter("12 apples", "Fern");
  await waitForError('but is the string "12 apples"');
  await enter("7", "Other");
  await waitForError("already belongs to a plant with a different name");
  await enter(unsafeId, "");
  await waitForError("is empty");
  expect(find(BigInt(unsafeId))).toBeUndefined();
  await enter(unsafeId, 'O\'Fern "quoted"', "indoor");
  await waitForText(page, "The plant is stored.");
  expect(find(BigInt(unsafeId))).toMatchObject({ name: 'O\'Fern "quoted"', tag: "indoor" });
  await enter("1e3", "A thousand");
  await waitForText(page, "This plant is already stored");
  await page.route("**/plants", async (route) => {
    // What is typed while the plant is sent is the next one.
    await dialog.getByLabel("Name").fill("Typed meanwhile");
    await route.continue();
  });
  await enter("1001", "Sent");
  await waitForText(page, "The plant is stored.");
  expect(await dialog.getByLabel("Name").inputValue()).toBe("Typed meanwhile");
  await page.unrouteAll();

  await dialog.getByRole("button", { name: "Generate" }).click();
  const generated = BigInt(await dialog.getByLabel("Id").inputValue());
  await dialog.getByLabel("Name").fill("Generated");
  await page.keyboard.press("Enter");
  await waitForText(page, "The plant is stored.");
  expect(generated).toBeLessThan(2n ** 63n);
  expect(find(generated)?.name).toBe("Generated");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await focused(page)).toBe("Add a plant");
});
