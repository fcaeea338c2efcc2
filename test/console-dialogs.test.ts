import { afterAll, expect } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, newPage, test } from "./browser.ts";
import { chooseAction, makeToken, useConsole } from "./console-session.ts";
import { operatorToken, startTestService, storedPlants, temporaryFolder } from "./harness.ts";

const session = useConsole(5);
const { open } = session;

afterAll(() => expect(session.pageErrors).toEqual([]));

const find = (id: bigint) => storedPlants(session.running.database).find((plant) => plant.id === id);
const secretOf = (page: Page) => page.locator("pre.secret").textContent();

async function revokeByName(name: string): Promise<void> {
  const headers = { Authorization: `Bearer ${operatorToken}` };
  const { tokens } = (await (
    await fetch(`${session.running.operatorUrl}/api/tokens`, { headers })
  ).json()) as {
    tokens: { id: string; name: string }[];
  };
  const { id } = tokens.find((token) => token.name === name) ?? { id: "" };
  const url = `${session.running.operatorUrl}/api/tokens/${id}/revoke`;
  expect((await fetch(url, { method: "POST", headers })).status).toBe(200);
}

/** Another request of the page may have ended the session already, and closed the dialog. */
const submit = (page: Page) => page.evaluate('document.querySelector("dialog form")?.requestSubmit()');

async function signIn(page: Page, secret: string): Promise<void> {
  await page.getByLabel("Token").fill(secret);
  await page.keyboard.press("Enter");
}

describe("a secret that is shown once", () => {
  test("stays until it is copied or confirmed, whatever is pressed", async () => {
    const page = await open("/tokens", { permissions: ["clipboard-read", "clipboard-write"] });
    await page.getByRole("button", { name: "Create a token" }).click();
    await page.keyboard.type("keyboard");
    await page.keyboard.press("Enter");
    const secret = await secretOf(page);
    expect(await page.evaluate("document.activeElement.textContent")).toContain("Copy secret");
    for (let times = 0; times < 3; times++) await page.keyboard.press("Escape");
    await page.getByRole("alert").getByText("Copy the secret").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    expect(await secretOf(page)).toBe(secret);
    expect(await page.evaluate("document.activeElement.textContent")).toContain("Copy secret");

    await page.keyboard.press("Enter");
    await page.getByText("Copied").first().waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(secret);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("has the focus itself if the browser has no clipboard, and is then confirmed", async () => {
    const page = await open("/tokens");
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.getByRole("button", { name: "Create a token" }).click();
    await page.keyboard.type("no clipboard");
    await page.keyboard.press("Enter");
    const secret = await secretOf(page);
    for (const key of ["Enter", "Escape", "Escape", "Enter"]) await page.keyboard.press(key);
    expect(await page.evaluate("document.activeElement.textContent")).toBe(secret);
    await page.getByRole("button", { name: "I have saved it" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("stays when it replaces the secret of one's own session", async () => {
    const own = await makeToken(session.running, "own", ["operator"]);
    const page = await open("/tokens", { token: own });
    await chooseAction(page, "Rotate", "own");
    await page.getByLabel("The old secret stays valid for").selectOption("0s");
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    const secret = (await secretOf(page)) ?? "";
    await page.getByRole("heading", { name: "Plant Store", includeHidden: true }).waitFor();
    expect(await secretOf(page)).toBe(secret);
    await page.getByRole("button", { name: "I have saved it" }).click();
    await signIn(page, secret);
    await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
  });
});

test("rotating and revoking a token whose secret is also preset shows that the secret stays valid", async () => {
  using folder = temporaryFolder();
  const database = join(folder.path, "plants.db");
  const first = await startTestService({}, database);
  const secret = await makeToken(first, "both", ["operator"]);
  await first[Symbol.asyncDispose]();
  await using running = await startTestService({}, database, { PLANT_STORE_OPERATOR_TOKEN: secret });
  const page = await newPage(session.browser);
  await page.goto(`${running.operatorUrl}/tokens`);
  await signIn(page, secret);
  await chooseAction(page, "Rotate", "both");
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("The old secret is also preset as preset-operator, and stays valid.").waitFor();
  expect(await dialog.getByText("The old secret is valid until").count()).toBe(0);
  await page.getByRole("button", { name: "I have saved it" }).click();
  await chooseAction(page, "Revoke", "both");
  await dialog.getByRole("button", { name: "Revoke both" }).click();
  await page.locator(".notice").getByText("Its secret is also preset as preset-operator").waitFor();
  await page.close();
});

describe("adding a plant", () => {
  test("without a name asks first, since no plant can be changed", async () => {
    const page = await open("/plants");
    await page.getByRole("button", { name: "Add a plant" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Id").fill("4001");
    await page.keyboard.press("Enter");
    await dialog.getByText("The name is empty").waitFor();
    expect(find(4001n)).toBeUndefined();
    expect(await page.evaluate("document.activeElement.name")).toBe("name");
    // A second Enter is not a confirmation.
    await page.keyboard.press("Enter");
    await dialog.getByText("The name is empty").waitFor();
    expect(find(4001n)).toBeUndefined();
    await dialog.getByRole("button", { name: "Store with an empty name" }).click();
    await dialog.getByText("The plant is stored.").waitFor();
    expect(find(4001n)).toMatchObject({ name: "" });
    await dialog.getByLabel("Id").fill("4002");
    await dialog.getByLabel("Name").fill("Named");
    expect(await dialog.getByRole("button", { name: "Store with an empty name" }).count()).toBe(0);
  });
});

describe("after a lost session", () => {
  test("what was typed into a dialog is still there, and a sign-out discards it", async () => {
    const scopes = ["operator", "plants:create"];
    const first = await makeToken(session.running, "short-lived", scopes);
    const second = await makeToken(session.running, "successor", scopes);
    const page = await open("/", { token: "" });
    await signIn(page, first);
    await page.getByRole("button", { name: "Add a plant" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Id").fill("4003");
    await dialog.getByLabel("Name").fill("Typed with care");
    await revokeByName("short-lived");
    await submit(page);
    await page.getByText("This token has expired or was revoked").waitFor();
    await signIn(page, second);
    expect(await dialog.getByLabel("Name").inputValue()).toBe("Typed with care");
    await dialog.getByRole("button", { name: "Add plant" }).click();
    await dialog.getByText("The plant is stored.").waitFor();
    await dialog.getByLabel("Name").fill("Not to be stored");
    await dialog.getByRole("button", { name: "Close", exact: true }).first().click();

    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("button", { name: "Create a token" }).click();
    await dialog.getByLabel("Name").fill("half typed");
    await revokeByName("successor");
    await submit(page);
    await page.getByText("This token has expired or was revoked").waitFor();
    await signIn(page, session.secret);
    expect(await dialog.getByLabel("Name").inputValue()).toBe("half typed");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("button", { name: "Add a plant" }).click();
    expect(await dialog.getByLabel("Name").inputValue()).toBe("");
    await dialog.getByLabel("Name").fill("discarded");
    await page.evaluate("document.querySelector('[aria-label=\"Sign out\"]').click()");
    await signIn(page, session.secret);
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    expect(await dialog.count()).toBe(0);
  });
});
