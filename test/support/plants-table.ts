// The table of plants in the console: a session with it, and what its page shows.
import type { Page } from "playwright-core";
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

export const rows = (page: Page) => page.locator(".rows .row");
export const names = (page: Page) => page.locator(".rows .cell-name").allTextContents();
export const ids = (page: Page) => page.locator(".rows .cell-id").allTextContents();
/** Waits until the line under the table says that. */
export const waitForProgressLine = (page: Page, text: string) =>
  page.locator(".progress-line").getByText(text, { exact: true }).first().waitFor();
export const scrollPx = (page: Page) => page.locator(".table-body").evaluate((body) => body.scrollTop);
export const scrollTo = (page: Page, px: number) =>
  page.locator(".table-body").evaluate((body, top) => body.scrollTo(0, top), px);

/** Waits until the first row has the name. */
export const waitForFirstRow = (page: Page, name: string | RegExp) =>
  page.locator('.rows .row[aria-rowindex="2"] .cell-name', { hasText: name }).waitFor();

/** The label or the text of the element that has the focus. */
export const focused = (page: Page) =>
  page.evaluate<string>(
    '(document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent).trim()',
  );
/** The number of the row that has the focus, as screen readers count: the heading is the first. */
export const focusedRow = (page: Page) =>
  page.evaluate<string>('document.activeElement.closest(".row")?.ariaRowIndex ?? ""');
