import { afterAll, expect } from "bun:test";
import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { describe, test } from "./browser.ts";
import { useConsole } from "./console-session.ts";
import { eventually, post, storedPlants } from "./harness.ts";
import { idOf } from "./seeded-store.ts";

const testMs = 40_000;
const session = useConsole(600);
const { open } = session;

// Except that of the scene in which a page crashes.
afterAll(() => expect(session.pageErrors.filter((error) => !error.includes("undefined"))).toEqual([]));

interface Scenario {
  readonly name: string;
  readonly path: string;
  readonly token?: string;
  readonly ready: string;
  act?(page: Page): Promise<void>;
}

const scenarios: readonly Scenario[] = [
  { name: "signing in", path: "/", token: "", ready: ".sign-in form" },
  { name: "the overview", path: "/", ready: ".bars a" },
  { name: "the plants", path: "/plants", ready: ".rows .row" },
  { name: "no match", path: "/plants?name=zzz", ready: ".empty" },
  { name: "a plant", path: `/plants/${idOf(3)}`, ready: ".facts" },
  {
    name: "adding a plant",
    path: "/plants",
    ready: ".rows .row",
    async act(page) {
      await page.getByRole("button", { name: "Add a plant" }).click();
      await page.getByRole("button", { name: "Add plant" }).click();
      await page.locator("dialog .field-error").waitFor();
    },
  },
  {
    name: "an import with a refused row",
    path: "/import",
    ready: ".drop",
    async act(page) {
      const buffer = Buffer.from('{"id": 1, "name": "One"}\n{"name": "No id"}\n');
      await page
        .locator("input[type=file]")
        .setInputFiles({ name: "two.ndjson", mimeType: "text/plain", buffer });
      await page.getByRole("button", { name: "Start import" }).click();
      await page.getByRole("heading", { name: "Done: two.ndjson" }).waitFor();
    },
  },
  {
    name: "the formats of an export",
    path: "/plants",
    ready: ".rows .row",
    act: (page) => page.getByRole("button", { name: "Export", exact: true }).click(),
  },
  {
    name: "a filter, a name that cannot be seen, and a long one",
    path: "/plants?tag=odd",
    ready: ".filters",
    async act(page) {
      for (const [id, name] of ["\u202e  ", "x ".repeat(20_000)].entries())
        await post(session.running.url, JSON.stringify({ id: id - 9, name, tag: "odd" }));
      await page.locator(".rows .row a").nth(1).waitFor();
      await page.locator(".rows .row a").first().click();
      await page.locator(".facts").waitFor();
      await page.getByRole("button", { name: "Created", exact: true }).click();
    },
  },
  {
    name: "an overview that cannot be read",
    path: "/import",
    ready: ".drop",
    async act(page) {
      const json = { error: 50302, message: "The store cannot be read right now." };
      await page.route("**/api/overview", (route) => route.fulfill({ status: 503, json }));
      await page.getByRole("link", { name: "Overview" }).click();
      await page.locator(".error-notice").waitFor();
    },
  },
  {
    name: "a page that crashed",
    path: "/import",
    ready: ".drop",
    async act(page) {
      await page.route("**/api/tokens", (route) => route.fulfill({ json: { tokens: [{}] } }));
      await page.getByRole("link", { name: "Tokens" }).click();
      await page.getByText("This page stopped working").waitFor();
    },
  },
  { name: "the tokens", path: "/tokens", ready: ".tokens" },
  { name: "the audit trail", path: "/audit", ready: ".audit" },
  { name: "the system", path: "/system", ready: ".health-facts" },
  {
    name: "a secret that was not copied",
    path: "/tokens",
    ready: ".tokens",
    async act(page) {
      await page.getByRole("button", { name: "Create a token" }).click();
      await page.keyboard.type(`secret ${crypto.randomUUID().slice(0, 8)}`);
      await page.keyboard.press("Enter");
      await page.locator("pre.secret").waitFor();
      await page.keyboard.press("Escape");
    },
  },
  {
    name: "creating a token",
    path: "/tokens",
    ready: ".tokens",
    act: (page) => page.getByRole("button", { name: "Create a token" }).click(),
  },
  {
    name: "rotating a token",
    path: "/tokens",
    ready: ".tokens",
    act: (page) => page.getByRole("button", { name: "Rotate ops" }).click(),
  },
  {
    name: "revoking a token",
    path: "/tokens",
    ready: ".tokens",
    act: (page) => page.getByRole("button", { name: "Revoke ops" }).click(),
  },
  {
    name: "a secret",
    path: "/tokens",
    ready: ".tokens",
    async act(page) {
      await page.getByRole("button", { name: "Create a token" }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("scene");
      await page.getByRole("dialog").getByRole("button", { name: "Create token" }).click();
      await page.locator("pre.secret").waitFor();
    },
  },
];

async function violations(page: Page, options: string): Promise<unknown[]> {
  const { violations } = (await page.evaluate(`axe.run(${options})`)) as AxeResults;
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}

async function prepare(page: Page, { ready, act }: Scenario): Promise<void> {
  await page.locator(ready).first().waitFor();
  await act?.(page);
}

describe("axe-core finds no violations in", () => {
  for (const scenario of scenarios) {
    test(
      scenario.name,
      async () => {
        const page = await open(scenario.path, scenario.token === "" ? { token: "" } : {});
        await prepare(page, scenario);
        await page.evaluate(axe.source);
        expect(await violations(page, "{}")).toEqual([]);
        // Only the colours differ in the dark theme.
        await page.emulateMedia({ colorScheme: "dark" });
        expect(await violations(page, '{ runOnly: ["color-contrast"] }')).toEqual([]);
        await page.context().close();
      },
      testMs,
    );
  }
});

test(
  "every page fits from a phone to a wide screen",
  async () => {
    for (const [path, ready] of [
      ["/", ".bars a"],
      ["/plants", ".rows .row"],
      [`/plants/${idOf(3)}`, ".facts"],
      ["/import", ".drop"],
      ["/tokens", ".tokens"],
      ["/audit", ".audit"],
      ["/system", ".health-facts"],
    ] as const) {
      const page = await open(path);
      await page.locator(ready).first().waitFor();
      for (const width of [360, 768, 1024, 2560]) {
        await page.setViewportSize({ width, height: 780 });
        await page.evaluate("new Promise(requestAnimationFrame)");
        const scrollWidth = await page.evaluate<number>("document.documentElement.scrollWidth");
        expect({ path, width, fits: scrollWidth <= width }).toEqual({ path, width, fits: true });
      }
      await page.context().close();
    }
  },
  testMs,
);

describe("with the keyboard only", () => {
  const focused = (page: Page) =>
    page.evaluate<string>(
      'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent',
    );

  const focusedRow = (page: Page) =>
    page.evaluate<string>('document.activeElement.closest(".row")?.ariaRowIndex ?? ""');

  async function tabTo(page: Page, name: string | RegExp): Promise<void> {
    for (let steps = 0; steps < 40; steps++) {
      await page.keyboard.press("Tab");
      const label = (await focused(page)).trim();
      if (typeof name === "string" ? label === name : name.test(label)) return;
    }
    throw new Error(`the Tab key never reached ${name}`);
  }

  test(
    "a user can sign in, skip to the content, search, move through the table and open a plant",
    async () => {
      const page = await open("/plants", { token: "" });
      await page.getByLabel("Token").waitFor();
      await page.keyboard.type(session.secret);
      await page.keyboard.press("Enter");
      await page.locator(".rows .row").first().waitFor();

      await page.keyboard.press("Tab");
      expect(await focused(page)).toBe("Skip to content");
      await page.keyboard.press("Enter");
      expect(await page.evaluate("document.activeElement.id")).toBe("main");
      await page.keyboard.press("/");
      expect(await focused(page)).toBe("Search by name");
      await page.keyboard.type("rosa");
      await page.waitForURL(/name=rosa/);
      await eventually(async () =>
        (await page.locator(".rows .cell-name").allTextContents()).every((name) => name.startsWith("Rosa")),
      );

      await tabTo(page, /^Rosa /);
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      await eventually(async () => (await focusedRow(page)) === "4");
      await page.keyboard.press("Enter");
      await page.locator(".facts").waitFor();
      await eventually(async () => (await focused(page)).startsWith("Rosa "));
      await tabTo(page, "Copy id");
      await page.keyboard.press("Escape");
      await page.locator(".facts").waitFor({ state: "detached" });
      await eventually(async () => (await focusedRow(page)) === "4");
      await page.keyboard.press("End");
      await eventually(async () => Number(await focusedRow(page)) > 4);
    },
    testMs,
  );

  test(
    "a user can open the export's formats, set a filter and remove it, and never loses the focus",
    async () => {
      const page = await open("/plants");
      await page.locator(".rows .row").first().waitFor();
      await tabTo(page, "Export");
      await page.keyboard.press("Enter");
      await eventually(async () => (await focused(page)).includes("NDJSON"));
      await page.keyboard.press("Escape");
      expect((await focused(page)).trim()).toBe("Export");
      await tabTo(page, "Tag");
      await page.keyboard.press("Enter");
      await eventually(() => page.evaluate<boolean>("document.activeElement.matches('input')"));
      await page.keyboard.type("fern");
      await page.keyboard.press("Enter");
      await eventually(async () => (await focused(page)) === "Tag: fern");
      await page.keyboard.press("Tab");
      expect(await focused(page)).toBe("Remove the filter Tag");
      await page.keyboard.press("Enter");
      await eventually(async () => (await focused(page)) === "Tag");
      await page.keyboard.press("/");
      await page.keyboard.type("rosa");
      await page.waitForURL(/name=rosa/);
      await tabTo(page, "Clear");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/plants$/);
      expect(await focused(page)).toBe("Search by name");
    },
    testMs,
  );

  test(
    "a user can change the page, hear its heading, and add a plant",
    async () => {
      const page = await open("/");
      await page.locator(".bars a").first().waitFor();
      await tabTo(page, "Tokens");
      await page.keyboard.press("Enter");
      await eventually(async () => (await focused(page)) === "Tokens");
      expect(await page.evaluate("document.activeElement.tagName")).toBe("H1");
      expect(await page.title()).toBe("Tokens · Plant Store");

      await page.keyboard.press("Shift+Tab");
      await tabTo(page, /Create a token/);
      await page.keyboard.press("Enter");
      await page.locator("dialog[open]").waitFor();
      await page.keyboard.press("Escape");
      await page.locator("dialog").waitFor({ state: "detached" });
      expect((await focused(page)).trim()).toBe("Create a token");

      await page.goBack();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      await tabTo(page, "Add a plant");
      await page.keyboard.press("Enter");
      await page.locator("dialog[open]").waitFor();
      await page.keyboard.type("9007199254740997");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      await page.keyboard.type("By hand");
      await page.keyboard.press("Enter");
      await page.getByText("The plant is stored.").waitFor();
      expect(storedPlants(session.running.database).find(({ id }) => id === 9007199254740997n)).toMatchObject(
        { name: "By hand" },
      );
    },
    testMs,
  );
});
