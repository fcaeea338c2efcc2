// The table of plants in the console: a session with it, and what its page shows.
import type { Locator, Page } from "playwright-core";
import { useConsole } from "./console-session.ts";
import { post } from "./post-plants.ts";

/** As `useConsole`, with that number of plants, and with a way to add one and to open the table. */
export function usePlantsTable(seeded: number) {
  const session = useConsole(seeded);

  function add(id: number | string, name: string, tag?: string): Promise<Response> {
    return post(session.service.url, `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`);
  }

  async function openTable(path = "/plants"): Promise<Page> {
    const page = await session.open(path);
    await rows(page).first().waitFor();
    return page;
  }

  return Object.assign(session, { add, openTable });
}

export const rows = (page: Page) => page.locator(".plants-table tbody tr");
export const names = (page: Page) => rows(page).locator("th").allTextContents();
export const ids = (page: Page) => rows(page).locator(".exact").allTextContents();

/** The link that opens the plant in a row. */
export const linkIn = (row: Locator) => row.locator("th a");

/** Waits until the line under the table says that. */
export const waitForListEnd = (page: Page, text: string | RegExp) =>
  page.locator(".list-end").getByText(text, { exact: true }).waitFor();

/** Waits until the first row has the name. */
export const waitForFirstRow = (page: Page, name: string | RegExp) =>
  rows(page).first().locator("th", { hasText: name }).waitFor();

/** The button that says that there are newer plants than those in the table. */
export const newPlants = (page: Page) => page.getByRole("button", { name: "New plants" });

/** The label or the text of the element that has the focus. */
export const focused = (page: Page) =>
  page.evaluate<string>(
    '(document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent).trim()',
  );
/** The id of the plant in whose row the focus is. */
export const focusedRow = (page: Page) =>
  page.evaluate<string>('document.activeElement.closest("tr")?.querySelector(".exact").textContent ?? ""');
