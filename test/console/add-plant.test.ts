// The console's form for a plant, in a browser.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { describe, test } from "../support/browser.ts";
import { textIn, useConsole, waitForText } from "../support/console-session.ts";
import { memoize } from "../support/memoize.ts";
import { post } from "../support/post-plants.ts";
import { storedPlants } from "../support/stored-plants.ts";

const unsafeId = "9007199254740993";
const session = useConsole(10);
const { open } = session;

const find = (id: bigint) => storedPlants(session.service.database).find((plant) => plant.id === id);

describe("the form for a plant", () => {
  async function openForm() {
    const page = await open("/");
    await page.getByRole("button", { name: "Add a plant" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    const add = async (id: string, name = "Fern", tag = ""): Promise<void> => {
      await dialog.getByLabel("Id").fill(id);
      await dialog.getByLabel("Name").fill(name);
      await dialog.getByLabel("Tag").fill(tag);
      await dialog.getByRole("button", { name: "Add plant" }).click();
    };
    const errorAt = async (label: string): Promise<string> => {
      await page.locator(".field-error").first().waitFor();
      const descriptionId = await dialog.getByLabel(label).getAttribute("aria-describedby");
      return textIn(page, `[id="${descriptionId}"]`);
    };
    return { page, dialog, add, errorAt };
  }
  const focusedField = (page: Page) => page.evaluate<string>("document.activeElement.name");

  /** Reads the empty form, and generates an id in it. */
  const readForm = memoize(async () => {
    const { page, dialog } = await openForm();
    const focusedAtFirst = await focusedField(page);
    const boxOf = async (selector: string) =>
      (await dialog.locator(selector).last().boundingBox()) ?? { y: 0, height: 0 };
    const name = await boxOf(".field:nth-of-type(2)");
    const tag = await boxOf(".field:nth-of-type(3)");
    const buttons = await boxOf(".dialog-foot");
    await page.getByRole("button", { name: "Generate" }).click();
    return {
      focusedAtFirst,
      spaceBetweenFields: tag.y - (name.y + name.height),
      spaceAboveButtons: buttons.y - (tag.y + tag.height),
      generatedId: await dialog.getByLabel("Id").inputValue(),
    };
  });

  test("opens with the focus at the id", async () => {
    expect((await readForm()).focusedAtFirst).toBe("id");
  });

  test("has the same space above its buttons as between its fields", async () => {
    const { spaceBetweenFields, spaceAboveButtons } = await readForm();
    // The line above the buttons adds a little to it.
    expect(spaceAboveButtons).toBeLessThan(1.5 * spaceBetweenFields);
  });

  test("generates an id that fits into 64 bits", async () => {
    expect(BigInt((await readForm()).generatedId)).toBeLessThan(2n ** 63n);
  });

  test("shows at the id that it is no number", async () => {
    const { add, errorAt } = await openForm();
    await add("12 apples");
    expect(await errorAt("Id")).toContain('but is the string "12 apples"');
  });

  test("moves the focus to an id that belongs to another plant", async () => {
    await post(session.service.url, '{"id":7,"name":"First"}');
    const { page, add, errorAt } = await openForm();
    await add("7", "Other");
    expect(await errorAt("Id")).toContain("already belongs to a plant with a different name");
    expect(await focusedField(page)).toBe("id");
  });

  test("stores no plant without a name", async () => {
    const { add, errorAt } = await openForm();
    await add("4001", "");
    expect(await errorAt("Name")).toContain("is empty");
    expect(find(4001n)).toBeUndefined();
  });

  test("keeps an id exact that no double can hold", async () => {
    const { page, add } = await openForm();
    await add(unsafeId, 'O\'Fern "quoted"', "indoor");
    await waitForText(page, "The plant is stored.");
    expect(find(BigInt(unsafeId))).toMatchObject({ name: 'O\'Fern "quoted"', tag: "indoor" });
  });

  test("accepts an id with an exponent", async () => {
    const { page, add } = await openForm();
    await add("1e3", "A thousand");
    await waitForText(page, "The plant is stored.");
    expect(find(1000n)).toMatchObject({ name: "A thousand" });
  });

  test("reports a replay", async () => {
    await post(session.service.url, '{"id":4002,"name":"Twice"}');
    const { page, add } = await openForm();
    await add("4002", "Twice");
    await waitForText(page, "This plant is already stored");
  });
});
