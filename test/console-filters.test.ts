import { afterAll, expect } from "bun:test";
import type { Page } from "playwright-core";
import { describe, test } from "./browser.ts";
import { useConsole } from "./console-session.ts";
import { eventually, post } from "./harness.ts";

const session = useConsole(2500);
const { open } = session;

afterAll(() => expect(session.pageErrors).toEqual([]));

const rows = (page: Page) => page.locator(".rows .row:not(.blank)");

describe("a filter that cannot be applied", () => {
  const mistyped = [
    { chip: "Created", field: "From", text: "31 Jun 2026", problem: "Write a time such as" },
    { chip: "Id", field: "Id", text: "12x", problem: "An id is an integer" },
    { chip: "Id", field: "Id", text: "9223372036854775808", problem: "An id is an integer" },
  ];
  for (const { chip, field, text, problem } of mistyped)
    test(`stays with its error after Enter or a click elsewhere: ${chip} ${text}`, async () => {
      const page = await open("/plants");
      await rows(page).first().waitFor();
      const input = page.locator(".popover-panel").getByLabel(field, { exact: true });
      for (const leave of [
        () => page.keyboard.press("Enter"),
        () => page.getByRole("heading", { name: "Plants" }).click(),
        () => page.getByLabel("Search by name").click(),
      ]) {
        await page.getByRole("button", { name: chip, exact: true }).click();
        await input.fill(text);
        await leave();
        await page.getByRole("alert").getByText(problem).waitFor();
        expect([await input.inputValue(), await input.getAttribute("aria-invalid")]).toEqual([text, "true"]);
        expect(new URL(page.url()).search).toBe("");
        // Escape gives it up.
        await input.press("Escape");
        await input.waitFor({ state: "detached" });
      }
    });

  test("is applied once it is corrected, also by a click elsewhere", async () => {
    const page = await open("/plants", { timezoneId: "UTC" });
    await rows(page).first().waitFor();
    await page.getByRole("button", { name: "Created", exact: true }).click();
    await page.getByLabel("Before").fill("tomorrow");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Before").fill("2020-11-15 18:00");
    await page.getByRole("heading", { name: "Plants", level: 1 }).click();
    await page.waitForURL(/until=2020-11-15T18/);
    await eventually(async () => (await page.locator(".popover-panel").count()) === 0);
    await page.getByRole("heading", { name: "No plants match" }).waitFor();
  });
});

describe("Back", () => {
  const scrollPx = (page: Page) => page.locator(".table-body").evaluate((body) => body.scrollTop);

  /** Scrolls far enough to load more, and returns the first of the rows that are seen then. */
  async function scrollTo(page: Page, px: number): Promise<string> {
    await rows(page).first().waitFor();
    const body = page.locator(".table-body");
    await eventually(async () => {
      await body.evaluate((element, top) => element.scrollTo(0, top), px);
      return (await scrollPx(page)) === px;
    });
    return firstSeen(page);
  }

  /** The id in the first row that is in view. */
  async function firstSeen(page: Page): Promise<string> {
    let id: string | null = null;
    await eventually(async () => {
      id = await page.evaluate<string | null>(`(() => {
        const { top } = document.querySelector(".table-body").getBoundingClientRect();
        const rows = [...document.querySelectorAll(".rows .row")];
        return rows.find((row) => row.getBoundingClientRect().top >= top - 1)?.querySelector(".cell-id")?.textContent ?? null;
      })()`);
      return id !== null;
    });
    return id ?? "";
  }

  test("returns to the position in the table, from another page and from another filter", async () => {
    const page = await open("/plants");
    const seen = await scrollTo(page, 36 * 420);
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
    // Meanwhile there are others on top.
    await post(session.running.url, '{"id":-1,"name":"Came meanwhile"}');
    await page.goBack();
    await rows(page).first().waitFor();
    await eventually(async () => (await scrollPx(page)) === 36 * 420);
    expect(await firstSeen(page)).toBe(seen);
    await page.getByRole("button", { name: "1 new plant" }).waitFor();

    // A plant, and from there the plants of its token.
    await rows(page).nth(18).click();
    await page.locator(".facts").waitFor();
    const left = { px: await scrollPx(page), seen: await firstSeen(page) };
    await page.locator(".facts a[href*=token]").click();
    await page.waitForURL(/token=/);
    await eventually(async () => (await scrollPx(page)) === 0);
    await page.goBack();
    await page.locator(".facts").waitFor();
    await eventually(async () => (await scrollPx(page)) === left.px);
    await page.goBack();
    await page.locator(".facts").waitFor({ state: "detached" });
    expect(await firstSeen(page)).toBe(left.seen);
    // It goes on from there.
    const end = await scrollTo(page, 36 * 900);
    expect(end).not.toBe(seen);

    // Not Back: the navigation opens a table from its top, with what is new.
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("link", { name: "Plants", exact: true }).click();
    await page.locator(".rows").getByText("Came meanwhile").waitFor();
    expect(await scrollPx(page)).toBe(0);
  });
});

describe("the table says how many plants there are", () => {
  const count = async (query: string) => {
    const headers = { Authorization: `Bearer ${session.secret}` };
    const response = await fetch(`${session.running.operatorUrl}/api/plants/count?${query}`, { headers });
    return Number(((await response.json()) as { plants: string }).plants).toLocaleString("en");
  };
  const said = async (page: Page) => (await page.locator(".progress-line p").first().textContent()) ?? "";

  test("in all, and how many match, by itself; new ones are added", async () => {
    const page = await open("/plants");
    const all = await count("");
    await eventually(async () => (await said(page)) === `${all} plants`);
    await post(session.running.url, '{"id":-2,"name":"One more elder"}');
    await eventually(async () => (await said(page)) === `${await count("")} plants`);
    await page.goto(`${session.running.operatorUrl}/plants?name=e`);
    await eventually(async () => (await said(page)) === `${await count("name=e")} plants match`);
    expect(await page.getByRole("button", { name: "Count all" }).count()).toBe(0);
    await post(session.running.url, '{"id":-3,"name":"Another elder"}');
    await eventually(async () => (await said(page)) === `${await count("name=e")} plants match`);
  });

  test("and over how many match if that takes long, until it is counted on request", async () => {
    const page = await open("/plants");
    await eventually(async () => / plants$/.test(await said(page)));
    let parts = 0;
    await page.route("**/api/plants/count?*", (route) => {
      parts++;
      const isLast = route.request().url().includes("cursor=c2");
      const next = route.request().url().includes("cursor=") ? "c2" : "c1";
      return route.fulfill({ json: isLast ? { plants: "100" } : { plants: "4000", next } });
    });
    await page.getByLabel("Search by name").fill("e");
    await eventually(async () => (await said(page)) === "Over 4,000 plants match");
    expect(parts).toBe(1);
    await page.getByRole("button", { name: "Count all" }).click();
    await eventually(async () => (await said(page)) === "8,100 plants match");
    expect([parts, await page.getByRole("button", { name: "Count all" }).count()]).toEqual([4, 0]);
  });
});

describe("an id in the search", () => {
  test("is offered as a plant to open, or as one that does not exist", async () => {
    await post(session.running.url, '{"id":9007199254740993,"name":"Beyond doubles"}');
    const page = await open("/plants");
    const search = page.getByLabel("Search by name");
    await search.fill(" 9007199254740993 ");
    await page.getByRole("link", { name: "Open plant 9007199254740993: Beyond doubles" }).click();
    await page.waitForURL(/\/plants\/9007199254740993$/);
    await page.locator(".facts .exact").getByText("9007199254740993").waitFor();
    expect(await search.inputValue()).toBe("");
    await rows(page).first().waitFor();
    await search.fill("424242");
    await page.getByText("No plant has the id 424242.").waitFor();
    for (const text of ["9223372036854775808", "12x", "fern 7"]) {
      await search.fill(text);
      await page.getByRole("heading", { name: "No plants match" }).waitFor();
      await eventually(async () => (await page.locator(".open-by-id").count()) === 0);
    }
  });
});

test("the export menu says whether it exports all plants or those that match", async () => {
  const page = await open("/plants");
  await rows(page).first().waitFor();
  const title = page.locator(".menu-title");
  await page.getByRole("button", { name: "Export", exact: true }).click();
  expect(await title.textContent()).toBe("All plants");
  await page.keyboard.press("Escape");
  await page.getByLabel("Search by name").fill("rosa");
  await page.waitForURL(/name=rosa/);
  await page.getByRole("button", { name: "Export", exact: true }).click();
  expect(await title.textContent()).toBe("Plants that match");
});
