import { afterAll, expect } from "bun:test";
import type { Page } from "playwright-core";
import { describe, test } from "./browser.ts";
import { useConsole } from "./console-session.ts";
import { eventually } from "./harness.ts";

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
