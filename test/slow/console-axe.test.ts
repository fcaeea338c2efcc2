import { expect } from "bun:test";
import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { describe, test } from "../browser.ts";
import { chooseAction, useConsole } from "../console-session.ts";
import { post } from "../harness.ts";

const session = useConsole(600);
const { open } = session;

// That of the scene in which a page crashes.
session.expectedErrors.push(/undefined/);

interface Scene {
  readonly name: string;
  /** What must be there. */
  readonly ready: string;
  /** What is checked; the rest of the page is in another scene. */
  readonly within?: "dialog";
  act?(page: Page): Promise<unknown>;
}

interface Walk {
  readonly path: string;
  readonly token?: "";
  readonly scenes: readonly Scene[];
}

const follow = (link: string) => (page: Page) =>
  page.getByRole("link", { name: link, exact: true }).first().click();
const press = (button: string) => (page: Page) =>
  page.getByRole("button", { name: button, exact: true }).click();

// One load of the console for each walk: loading and axe-core itself are what takes time.
const walks: Readonly<Record<string, Walk>> = {
  "signing in": { path: "/", token: "", scenes: [{ name: "signing in", ready: ".sign-in form" }] },
  "the overview, the audit trail and the system": {
    path: "/",
    scenes: [
      { name: "the overview", ready: ".latest a" },
      { name: "the audit trail", ready: ".audit", act: follow("Audit") },
      { name: "the system", ready: ".system-table code", act: follow("System") },
    ],
  },
  "the plants": {
    path: "/plants",
    scenes: [
      { name: "the table", ready: ".rows .row" },
      { name: "the formats of an export", ready: ".popover-panel", act: press("Export") },
      {
        name: "adding a plant",
        ready: "dialog .field-error",
        within: "dialog",
        async act(page) {
          await press("Add a plant")(page);
          await press("Add plant")(page);
        },
      },
      {
        name: "no match",
        ready: ".empty",
        async act(page) {
          await page.keyboard.press("Escape");
          await page.getByLabel("Search by name").fill("zzz");
        },
      },
    ],
  },
  "a filter, a name that cannot be seen, and a long one": {
    path: "/plants?tag=odd",
    scenes: [
      {
        name: "a plant and a filter",
        ready: ".popover-panel",
        async act(page) {
          for (const [id, name] of ["\u202e  ", "x ".repeat(20_000)].entries())
            await post(session.running.url, JSON.stringify({ id: id - 9, name, tag: "odd" }));
          await page.locator(".rows .row a").nth(1).waitFor();
          await page.locator(".rows .row a").first().click();
          await page.locator(".facts").waitFor();
          await press("Filter")(page);
        },
      },
    ],
  },
  "a page that the token may not use": {
    path: "/audit",
    scenes: [
      {
        name: "the audit trail without its scope",
        ready: ".empty",
        async act(page) {
          const json = { name: "reader", scopes: ["operator:read"], publicUrl: session.running.url };
          await page.route("**/api/me", (route) => route.fulfill({ json }));
          await page.reload();
          await page.evaluate(axe.source);
        },
      },
    ],
  },
  "an import, and what cannot be read": {
    path: "/import",
    scenes: [
      {
        name: "an import with a refused row",
        ready: ".tally",
        async act(page) {
          const buffer = Buffer.from('{"id": 1, "name": "One"}\n{"name": "No id"}\n');
          await page
            .locator("input[type=file]")
            .setInputFiles({ name: "two.ndjson", mimeType: "text/plain", buffer });
          await press("Start import")(page);
          await page.getByRole("heading", { name: "Done: two.ndjson" }).waitFor();
        },
      },
      {
        name: "an overview that cannot be read",
        ready: ".error-notice",
        async act(page) {
          const json = { error: 50302, message: "The store cannot be read right now." };
          await page.route("**/api/overview", (route) => route.fulfill({ status: 503, json }));
          await follow("Overview")(page);
        },
      },
      {
        name: "a page that crashed",
        ready: "text=This page stopped working",
        async act(page) {
          await page.route("**/api/tokens", (route) => route.fulfill({ json: { tokens: [{}] } }));
          await follow("Tokens")(page);
        },
      },
    ],
  },
  "the tokens": {
    path: "/tokens",
    scenes: [
      { name: "the table", ready: ".tokens" },
      { name: "the actions of a token", ready: ".menu", act: press("Actions for ops") },
      {
        name: "rotating",
        ready: "dialog",
        within: "dialog",
        act: (page) => chooseAction(page, "Rotate", "ops"),
      },
      {
        name: "revoking",
        ready: "dialog .danger",
        within: "dialog",
        async act(page) {
          await page.keyboard.press("Escape");
          await chooseAction(page, "Revoke", "ops");
        },
      },
      {
        name: "creating",
        ready: "dialog fieldset",
        within: "dialog",
        async act(page) {
          await page.keyboard.press("Escape");
          await press("Create a token")(page);
        },
      },
      {
        name: "a secret that was not copied",
        ready: "dialog [role=alert]",
        within: "dialog",
        async act(page) {
          await page.getByRole("dialog").getByLabel("Name").fill("scene");
          await page.keyboard.press("Enter");
          await page.locator("pre.secret").waitFor();
          await page.keyboard.press("Escape");
        },
      },
    ],
  },
};

async function violations(page: Page, { within }: Scene, options: string): Promise<unknown[]> {
  const context = JSON.stringify(within ?? "html");
  const { violations } = (await page.evaluate(`axe.run(${context}, ${options})`)) as AxeResults;
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}

async function tooWideAt(page: Page): Promise<number[]> {
  const tooWide: number[] = [];
  for (const width of [360, 768, 1024, 2560, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await page.evaluate("new Promise(requestAnimationFrame)");
    const scrollWidth = await page.evaluate<number>("document.documentElement.scrollWidth");
    if (scrollWidth > width) tooWide.push(width);
  }
  return tooWide;
}

async function checkScene(page: Page, scene: Scene): Promise<void> {
  const { name, ready, act } = scene;
  await act?.(page);
  await page.locator(ready).first().waitFor();
  expect([name, await violations(page, scene, "{}")]).toEqual([name, []]);
  // Only the colours differ in the dark theme.
  await page.emulateMedia({ colorScheme: "dark" });
  const colours = '{ runOnly: ["color-contrast"] }';
  expect([name, "dark", await violations(page, scene, colours)]).toEqual([name, "dark", []]);
  await page.emulateMedia({ colorScheme: "light" });
  expect([name, "too wide at", await tooWideAt(page)]).toEqual([name, "too wide at", []]);
}

describe("axe-core finds no violations, and everything fits from a phone to a wide screen:", () => {
  for (const [name, { path, token, scenes }] of Object.entries(walks))
    test(name, async () => {
      const page = await open(path, { alone: true, ...(token === undefined ? {} : { token }) });
      await page.evaluate(axe.source);
      for (const scene of scenes) await checkScene(page, scene);
      await page.context().close();
    });
});
