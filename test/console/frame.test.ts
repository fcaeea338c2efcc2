// What surrounds the pages of the console, in a browser: signing in, and what a token without every scope is offered; theme,
// navigation, an outage, unknown paths.
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { copiedBy, describe, noStorage, secretField, test } from "../support/browser.ts";
import {
  signIn,
  textIn,
  useConsole,
  waitForHeading,
  waitForText,
  waitUntil,
} from "../support/console-session.ts";
import { mintToken, operatorPost } from "../support/operator-requests.ts";
import { waitForFirstRow } from "../support/plants-table.ts";
import { post } from "../support/post-plants.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { accessToken } from "../support/tokens.ts";

const session = useConsole(10);
const { open } = session;

describe("signing in", () => {
  test("opens the requested page, until the user signs out", async () => {
    const page = await open("/audit", { token: "" });
    expect(await secretField(page, "Token")).toEqual({ type: "text", autocomplete: "off", shown: "disc" });
    const command = await textIn(page, ".how .code");
    expect(command).toContain("--name ops --scope operator");
    expect(await copiedBy(page.getByRole("button", { name: "Copy command" }))).toBe(command);
    await signIn(page, session.secret);
    const newest = page.locator(".audit tbody tr").first();
    await newest.waitFor();
    expect(await newest.textContent()).toMatch(/opsSigned inconsoleoperator, plants:create127\.0\.0\.1/);
    await page.reload();
    await waitForHeading(page, "Audit");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  });

  test("with a token that is not accepted is refused at the field", async () => {
    // The earlier token of the tab is refused once, and removed.
    const page = await open("/", { token: "an-earlier-token" });
    await page.locator(".field-error").waitFor();
    expect((await textIn(page, ".sign-in form")).split("unknown, expired or revoked")).toHaveLength(2);
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
    const { secret } = await mintToken(session.service, { name: "too often", scopes: ["operator:read"] });
    const unaccepted = {
      "": "Enter a token",
      schlüssel: "unknown, expired or revoked",
      [accessToken]: "lacks the scope “plants:read”",
      [secret]: "Try again in 1 s.",
    };
    await page.route("**/api/sign-in", (route) => {
      if (route.request().headers()["authorization"] !== `Bearer ${secret}`) return route.continue();
      return route.fulfill({ status: 429, json: { error: 42901, message: "Try again in 1 s." } });
    });
    for (const [token, reason] of Object.entries(unaccepted)) {
      await page.getByLabel("Token").fill(token);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.locator(".field-error", { hasText: reason }).waitFor();
      expect(await page.getByLabel("Token").getAttribute("aria-invalid")).toBe("true");
    }
  });

  test("outlasts a late response to the token of the session before", async () => {
    const { secret, token } = await mintToken(session.service, { name: "before", scopes: ["operator"] });
    const page = await open("/tokens", { token: secret });
    await page.getByText("before", { exact: true }).first().waitFor();
    const late = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    await page.route("**/api/tokens/*/revoke", async (route) => {
      held.resolve();
      await late.promise;
      await route.continue();
    });
    await page.getByRole("button", { name: "Revoke before" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await held.promise;
    await operatorPost(session.service, `/api/tokens/${token.id}/revoke`);
    await waitForText(page, "This token has expired or was revoked");
    await signIn(page, session.secret);
    await waitForHeading(page, "Tokens");
    const refused = page.waitForResponse((response) => response.status() === 401);
    late.resolve();
    await refused;
    await waitForHeading(page, "Tokens");
    await page.getByRole("link", { name: "System" }).click();
    await waitForHeading(page, "System");
  });
});

test("someone is offered only what the scopes of the token allow", async () => {
  await post(session.service.url, "[]");
  const { secret } = await mintToken(session.service, { name: "reader", scopes: ["operator:read"] });
  const page = await open("/plants", { token: secret });
  await page.locator(".plants-table tbody tr").first().waitFor();
  expect(await page.getByRole("navigation").getByRole("link").allInnerTexts()).toEqual([
    "Overview",
    "Plants",
  ]);
  const creating = page.locator("main").getByText(/add a plant|import/i);
  expect(await creating.count()).toBe(0);
  await page.getByRole("link", { name: "Overview" }).click();
  await page.locator(".latest a").first().waitFor();
  await page.getByRole("row", { name: /^preset-access .* [1-9]\d* last / }).waitFor();
  expect(await creating.count()).toBe(0);
  expect(await page.getByRole("link", { name: /^1|since the start|Refused/ }).count()).toBe(0);
  await page.goto(`${session.service.operatorUrl}/tokens`);
  await waitForText(page, "Sign in with a token that has the scope “operator”.");
  const manager = await mintToken(session.service, { name: "manager", scopes: ["operator"] });
  await open("/import", { token: manager.secret });
  await waitForText(page, "Sign in with a token that has the scope “plants:create”.");
  expect(await page.locator("input[type=file]").count()).toBe(0);
  const only = await mintToken(session.service, { name: "plants only", scopes: ["plants:read"] });
  const plants = await open("/", { token: only.secret });
  await plants.locator(".plants-table tbody tr").first().waitFor();
  expect(await plants.getByRole("navigation").getByRole("link").allInnerTexts()).toEqual(["Plants"]);
  expect(await markedPages(plants)).toEqual(["Plants"]);
  await plants.getByRole("button", { name: "Export" }).waitFor();
  expect(await creating.count()).toBe(0);
  await plants.locator(".plants-table th a").first().click();
  await plants.locator(".facts").waitFor();
  await plants.getByRole("link", { name: "Plant Store" }).click();
  await plants.locator(".facts").waitFor({ state: "detached" });
  await waitForHeading(plants, "Plants");
});

describe("the theme", () => {
  const background = (page: Page) => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
  const light = "rgb(251, 251, 250)";
  const dark = "rgb(14, 17, 16)";

  async function chooseDark(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Theme: system" }).click();
    await page.getByRole("button", { name: "Theme: light" }).click();
    await page.getByRole("button", { name: "Theme: dark" }).waitFor();
  }

  test("is the system's until another is chosen, which the browser keeps, and nothing else", async () => {
    const page = await open("/import", { alone: true });
    await page.emulateMedia({ colorScheme: "light" });
    expect(await background(page)).toBe(light);
    await chooseDark(page);
    expect(await background(page)).toBe(dark);
    expect(await page.evaluate("Object.entries(localStorage)")).toEqual([["plant-store-theme", "dark"]]);
    expect(await page.evaluate("Object.keys(sessionStorage)")).toEqual(["plant-store-token"]);
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.evaluate("indexedDB.databases()")).toEqual([]);
    expect(await page.evaluate("caches.keys()")).toEqual([]);
    // Without the page's script, what is left is what the file in <head> has done.
    await page.route("**/assets/main-*.js", (route) => route.abort());
    await page.reload();
    await waitForText(page, "Loading the console.");
    expect(await background(page)).toBe(dark);
    await page.unrouteAll();
    await page.reload();
    await page.getByRole("button", { name: "Theme: dark" }).click();
    await page.getByRole("button", { name: "Theme: system" }).waitFor();
    expect(await background(page)).toBe(light);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await background(page)).toBe(dark);
    await page.context().close();
  });

  test("and the session last until the next load in a browser that keeps nothing", async () => {
    const page = await open("/import", { alone: true });
    await page.emulateMedia({ colorScheme: "light" });
    await page.addInitScript(`${noStorage("localStorage")}; ${noStorage("sessionStorage")}`);
    await page.reload();
    await signIn(page, session.secret);
    await chooseDark(page);
    await page.getByRole("link", { name: "Tokens" }).click();
    await waitForHeading(page, "Tokens");
    expect(await background(page)).toBe(dark);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    await page.context().close();
  });
});

/** The pages that the navigation marks as current. */
const markedPages = (page: Page) => page.locator("nav [aria-current=page]").allInnerTexts();

// The title of the tab follows what the page shows.
const waitForTitle = (page: Page, title: string) =>
  waitUntil(async () => (await page.title()) === `${title} · Plant Store`);

test("each link of the navigation opens its page, whose heading a screen reader announces", async () => {
  const page = await open("/import");
  await waitForHeading(page, "Import");
  expect(await markedPages(page)).toEqual([]);
  const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
  const names = await links.allInnerTexts();
  expect(names).toEqual(["Overview", "Plants", "Refused", "Tokens", "System"]);
  await page.setViewportSize({ width: 360, height: 640 });
  const places = await Promise.all((await links.all()).map((link) => link.boundingBox()));
  expect(new Set(places.map((place) => place?.y)).size).toBe(1);
  for (const name of names) {
    await page.getByRole("navigation").getByRole("link", { name }).click();
    await page.locator("h1:focus", { hasText: name }).waitFor();
    await waitForTitle(page, name);
    expect(await markedPages(page)).toEqual([name]);
  }
  // The pages that are not in the navigation are reached from those whose subject they share.
  for (const [from, name] of [
    ["System", "Audit"],
    ["Tokens", "Audit"],
    ["Plants", "Import"],
  ] as const) {
    await page.getByRole("navigation").getByRole("link", { name: from }).click();
    await page.locator(".page-head").getByRole("link", { name, exact: true }).click();
    await page.locator("h1:focus", { hasText: name }).waitFor();
  }
});

test("an outage is reported once on each page, until it is over", async () => {
  using proxy = await startTcpProxy(Number(new URL(session.service.operatorUrl).port));
  const page = await open("/", { origin: `http://127.0.0.1:${proxy.port}` });
  await waitForText(page, "All plants are on disk");
  await waitUntil(async () => (await page.locator("[aria-busy=true]").count()) === 0);
  proxy.refuse();
  await waitForText(page, /No connection to the service since \d\d:\d\d:\d\d/);
  // What is polled has failed by now: it is marked as old.
  await page.locator(".stale").first().waitFor();
  expect(await page.locator(".error-notice:not(.offline)").count()).toBe(0);

  // The table has nothing to show, until it is loaded again by itself.
  await page.getByRole("link", { name: "Plants", exact: true }).click();
  await waitForText(page, "The service does not respond.");
  await post(session.service.url, '{"id":31,"name":"Meanwhile"}');
  proxy.accept();
  await waitForFirstRow(page, "Meanwhile");
  await page.locator(".error-notice").waitFor({ state: "detached" });
  const failed = page.waitForEvent("requestfailed", (request) => request.url().includes("since="));
  proxy.refuse();
  await failed;
  await page.locator(".offline").waitFor();
  expect(await page.locator(".error-notice:not(.offline)").count()).toBe(0);
  await page.goto("about:blank");
});

test("an unknown path says that there is nothing, and leads to the start", async () => {
  // The second is no UTF-8. The last is a path of the operator API, and no plant.
  for (const path of ["/nowhere", "/plants/%zz", "/plants/count"]) {
    const page = await open(path);
    await waitForText(page, `There is nothing at ${path}`);
    await waitForTitle(page, "Page not found");
    expect(await markedPages(page)).toEqual([]);
    await page.getByRole("link", { name: "Go to the start" }).click();
    await waitForHeading(page, "Overview");
  }
});
