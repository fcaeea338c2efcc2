// Signing in to the console in a browser, for how long, and what a token without every scope is offered.
import { expect } from "bun:test";
import type { Route } from "playwright-core";
import { copiedBy, describe, noStorage, secretField, test } from "../support/browser.ts";
import { signIn, textIn, useConsole, waitForHeading, waitForText } from "../support/console-session.ts";
import { mintToken } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
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
    const newest = page.locator(".audit tr", { has: page.locator("time") }).first();
    await newest.waitFor();
    expect(await newest.textContent()).toMatch(
      /ops signed in to the console with operator, plants:create.*127\.0\.0\.1/s,
    );
    await page.reload();
    await waitForHeading(page, "Audit");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  });

  test("with a token that is not accepted is refused at the field", async () => {
    const page = await open("/", { token: "" });
    const { secret } = await mintToken(session.service, { name: "too often", scopes: ["operator:read"] });
    const unaccepted = {
      "": "Enter a token",
      schlüssel: "unknown, expired or revoked",
      [accessToken]: "lacks the scope “operator:read”",
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

  test("with an earlier token that is refused says so once, and removes it from the browser", async () => {
    const page = await open("/", { token: "an-earlier-token" });
    await page.locator(".field-error").waitFor();
    expect((await textIn(page, ".sign-in form")).split("unknown, expired or revoked")).toHaveLength(2);
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  });

  test("with the earlier token is still tried after the form was sent without one", async () => {
    const page = await open("/livez");
    await page.route("**/api/me", (route) => route.abort());
    await page.goto(session.service.operatorUrl);
    await page.locator(".field-error").waitFor();
    await page.getByRole("button", { name: "Sign in" }).click();
    await waitForText(page, "Enter a token");
    await page.unroute("**/api/me");
    await waitForHeading(page, "Overview");
  });

  test("with another token, while the earlier one cannot be checked, is not undone by its late refusal", async () => {
    const page = await open("/livez", { token: "an-earlier-token" });
    const held = Promise.withResolvers<Route>();
    let requests = 0;
    await page.route("**/api/me", (route) => {
      requests++;
      return requests === 1 ? route.abort() : held.resolve(route);
    });
    await page.goto(session.service.operatorUrl);
    const earlier = await held.promise;
    await signIn(page, session.secret);
    await waitForHeading(page, "Overview");
    // The page may have aborted its request, to which there is then no response.
    const refusal = { error: 40102, message: "This token is unknown." };
    await earlier.fulfill({ status: 401, json: refusal }).catch(() => {});
    await page.getByRole("link", { name: "Tokens" }).click();
    await waitForHeading(page, "Tokens");
  });

  test("with a token in three parts, as a JWT has, is called a token when it ends", async () => {
    const page = await open("/", { token: "" });
    await page.route("**/api/sign-in", async (route) => {
      const headers = { ...route.request().headers(), authorization: `Bearer ${session.secret}` };
      await route.fulfill({ response: await route.fetch({ headers }) });
    });
    await signIn(page, "a.preset.token");
    await waitForText(page, "This token has expired or was revoked. Sign in with another one.");
  });

  test("lasts until the next load in a browser that keeps nothing", async () => {
    const page = await open("/livez", { alone: true });
    await page.addInitScript(noStorage("sessionStorage"));
    await page.goto(session.service.operatorUrl);
    await signIn(page, session.secret);
    await waitForHeading(page, "Overview");
    await page.getByRole("link", { name: "Tokens" }).click();
    await waitForHeading(page, "Tokens");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    await page.context().close();
  });
});

test("someone with a token that only reads is offered nothing else", async () => {
  await post(session.service.url, "[]");
  const { secret } = await mintToken(session.service, { name: "reader", scopes: ["operator:read"] });
  const page = await open("/plants", { token: secret });
  await page.locator(".rows .row").first().waitFor();
  expect(await page.getByRole("navigation").getByRole("link").allInnerTexts()).toEqual([
    "Overview",
    "Plants",
  ]);
  const creating = page.locator("main").getByText(/add a plant|import/i);
  expect(await creating.count()).toBe(0);
  await page.getByRole("link", { name: "Overview" }).click();
  await page.locator(".latest a").first().waitFor();
  await waitForText(page, "40004");
  expect(await creating.count()).toBe(0);
  expect(await page.getByRole("link", { name: /40004|See who|Refused/ }).count()).toBe(0);
  await page.goto(`${session.service.operatorUrl}/tokens`);
  await waitForText(page, "Sign in with a token that has the scope “operator”.");
});

test("someone whose token creates no plants is told which scope an import needs", async () => {
  const { secret } = await mintToken(session.service, { name: "manager", scopes: ["operator"] });
  const page = await open("/import", { token: secret });
  await waitForText(page, "Sign in with a token that has the scope “plants:create”.");
  expect(await page.locator("input[type=file]").count()).toBe(0);
});
