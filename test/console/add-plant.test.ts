// The console's form for a plant, in a browser.
import { expect } from "bun:test";
import { test } from "../support/browser.ts";
import { textIn, useConsole, waitForText } from "../support/console-session.ts";
import { post } from "../support/post-plants.ts";
import { storedPlants } from "../support/stored-plants.ts";

const unsafeId = "9007199254740993";
const session = useConsole(10);

const find = (id: bigint) => storedPlants(session.service.database).find((plant) => plant.id === id);

async function openForm() {
  const page = await session.open("/");
  await page.getByRole("button", { name: "Add a plant" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  const add = async (id: string, name: string, tag = ""): Promise<void> => {
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
  return { page, dialog, add, waitForErrorAt, focusedField };
}

test("a plant is stored as it was entered, once its form has nothing wrong", async () => {
  await post(session.service.url, '{"id":7,"name":"First"}');
  const { page, add, waitForErrorAt, focusedField } = await openForm();
  expect(await focusedField()).toBe("id");
  await add("12 apples", "Fern");
  await waitForErrorAt("Id", 'but is the string "12 apples"');
  await add("7", "Other");
  await waitForErrorAt("Id", "already belongs to a plant with a different name");
  expect(await focusedField()).toBe("id");
  await add(unsafeId, "");
  await waitForErrorAt("Name", "is empty");
  expect(find(BigInt(unsafeId))).toBeUndefined();
  await add(unsafeId, 'O\'Fern "quoted"', "indoor");
  await waitForText(page, "The plant is stored.");
  expect(find(BigInt(unsafeId))).toMatchObject({ name: 'O\'Fern "quoted"', tag: "indoor" });
});

test("a plant with a generated id is stored", async () => {
  const { page, dialog } = await openForm();
  await dialog.getByRole("button", { name: "Generate" }).click();
  const id = BigInt(await dialog.getByLabel("Id").inputValue());
  expect(id).toBeLessThan(2n ** 63n);
  await dialog.getByLabel("Name").fill("Generated");
  await page.keyboard.press("Enter");
  await waitForText(page, "The plant is stored.");
  expect(find(id)?.name).toBe("Generated");
});

test("a plant that is stored already is not stored twice, even if its id has an exponent", async () => {
  await post(session.service.url, '{"id":1000,"name":"A thousand"}');
  const { page, add } = await openForm();
  await add("1e3", "A thousand");
  await waitForText(page, "This plant is already stored");
});
