import { expect } from "bun:test";
import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { describe, test } from "../browser.ts";
import { makeToken, useConsole } from "../console-session.ts";
import { eventually, post, startTestService } from "../harness.ts";
import { startTcpProxy } from "../tcp-proxy.ts";

const session = useConsole(600);
const { open } = session;

const widthsPx = [360, 768, 1024, 2560, 1280];
const longName = "a-name-that-someone-made-as-long-as-a-name-may-be-and-longer-123";

// That of the scene in which a page crashes.
session.expectedErrors.push(/undefined/);

interface Scene {
  readonly name: string;
  /** What must be there. */
  readonly ready: string;
  act?(page: Page): Promise<unknown>;
}

const follow = (link: string) => (page: Page) =>
  page.getByRole("link", { name: link, exact: true }).first().click();
const press = (button: string) => (page: Page) =>
  page.getByRole("button", { name: button, exact: true }).click();

async function reload(page: Page): Promise<void> {
  await page.reload();
  await page.evaluate(axe.source);
}

// One load of the console for each walk: loading and axe-core itself are what takes time.
const walks: Record<string, { path: string; token?: ""; scenes: Scene[] }> = {
  "signing in": { path: "/", token: "", scenes: [{ name: "signing in", ready: ".sign-in form" }] },
  "the overview, the audit trail and the system": {
    path: "/",
    scenes: [
      {
        name: "the overview, with a large number",
        ready: "text=1,234,567,890",
        async act(page) {
          await page.route("**/api/overview", async (route) => {
            const overview = (await (await route.fetch()).json()) as object;
            await route.fulfill({ json: { ...overview, total: "1234567890" } });
          });
          await reload(page);
          await page.locator(".latest a").first().waitFor();
        },
      },
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
          for (const [id, name] of ["\u202e  ", "x".repeat(60_000)].entries())
            await post(session.running.url, JSON.stringify({ id: id - 9, name, tag: "odd" }));
          await page.locator(".rows .row a").nth(1).waitFor();
          await page
            .locator(".rows .row")
            .first()
            .click({ position: { x: 20, y: 10 } });
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
          await reload(page);
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
      { name: "rotating", ready: "dialog", act: press(`Rotate ${longName}`) },
      {
        name: "revoking",
        ready: "dialog .danger",
        async act(page) {
          await page.keyboard.press("Escape");
          await press(`Revoke ${longName}`)(page);
        },
      },
      {
        name: "creating",
        ready: "dialog fieldset",
        async act(page) {
          await page.keyboard.press("Escape");
          await press("Create a token")(page);
        },
      },
      {
        name: "a secret",
        ready: "dialog pre.secret",
        async act(page) {
          await page.getByRole("dialog").getByLabel("Name").fill("scene");
          await page.keyboard.press("Enter");
        },
      },
    ],
  },
};

async function violations(page: Page, { ready }: Scene, options: string): Promise<unknown[]> {
  // What is around a dialog is in another scene.
  const context = ready.startsWith("dialog") ? "'dialog'" : "'html'";
  const { violations } = (await page.evaluate(`axe.run(${context}, ${options})`)) as AxeResults;
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}

/** What does not fit: a page wider than the window, an element wider than its box, a panel or the account out of view. */
const misfits = `(() => {
  // By how far the button of an icon may reach into the padding around it.
  const outdentPx = 9;
  const isIn = ({ left, right }) => left >= 0 && right <= innerWidth;
  const boxes = [...(document.querySelector("dialog[open]") ?? document).querySelectorAll("body *")];
  const misfits = boxes.filter((box) => {
    if (box.matches(".popover-panel, .who, .light")) return !isIn(box.getBoundingClientRect());
    if (!box.checkVisibility() || box.closest(".visually-hidden, svg, .account")) return false;
    const { display, overflowX } = getComputedStyle(box);
    const mustFit = overflowX === "visible" && display !== "inline" && box.querySelector(".popover-panel") === null;
    return mustFit && box.scrollWidth > box.clientWidth + outdentPx;
  });
  if (document.documentElement.scrollWidth > innerWidth) misfits.push(document.documentElement);
  return misfits.map((box) => box.outerHTML.slice(0, 120));
})()`;

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
  for (const width of widthsPx) {
    await page.setViewportSize({ width, height: 800 });
    await page.evaluate("new Promise(requestAnimationFrame)");
    expect([name, width, await page.evaluate(misfits)]).toEqual([name, width, []]);
  }
}

describe("axe-core finds no violations, and everything fits from a phone to a wide screen:", () => {
  for (const [name, { path, token, scenes }] of Object.entries(walks))
    test(name, async () => {
      const own = token ?? (await makeToken(session.running, longName, ["operator", "plants:create"]));
      const page = await open(path, { alone: true, token: own });
      await page.evaluate(axe.source);
      for (const scene of scenes) await checkScene(page, scene);
      await page.context().close();
    });
});

test("the table has whole rows that do not overlap, at any width", async () => {
  const page = await open("/plants");
  await page.locator(".rows .row").first().waitFor();
  for (const width of [...widthsPx, 767]) {
    await page.setViewportSize({ width, height: 777 });
    await eventually(async () => (await page.evaluate(tableFault)) === "", `whole rows at ${width} px`);
  }
});

/** What is wrong with the rows, or "". */
const tableFault = `(() => {
  const boxOf = (element) => element.getBoundingClientRect();
  const body = boxOf(document.querySelector(".table-body"));
  const rows = [...document.querySelectorAll(".rows .row")].map(boxOf).sort((a, b) => a.top - b.top);
  if (rows.some(({ top }, at) => at > 0 && Math.abs(top - rows[at - 1].bottom) > 0.5)) return "overlap";
  const cells = [...document.querySelectorAll(".rows .row > span")];
  if (cells.some((cell) => boxOf(cell).bottom > boxOf(cell.parentElement).bottom + 0.5)) return "a cell leaves its row";
  const seen = rows.filter(({ top, bottom }) => bottom > body.top + 0.5 && top < body.bottom - 0.5);
  if (seen.length < 3) return "few rows";
  return seen.some(({ top, bottom }) => top < body.top - 0.5 || bottom > body.bottom + 0.5) ? "cut row" : "";
})()`;

test("a service that hangs is connected neither on a page that polls nor on one that asks for nothing", async () => {
  await using running = await startTestService();
  using proxy = await startTcpProxy(Number(new URL(running.operatorUrl).port));
  const token = await makeToken(running, "ops", ["operator", "plants:create"]);
  for (const path of ["/plants", "/import"]) {
    const page = await open(path, { token, origin: `http://127.0.0.1:${proxy.port}`, alone: true });
    await page.getByText("Connected", { exact: true }).waitFor();
    proxy.cut();
    await page.getByText("No response", { exact: true }).waitFor();
    await page.locator(".offline").waitFor();
    proxy.restore();
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.locator(".offline").waitFor({ state: "detached" });
    await page.context().close();
  }
});
