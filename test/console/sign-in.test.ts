// Signing in to the console in a browser, for how long, and what a token without every scope is offered.
import { expect } from "bun:test";
import type { Page, Route } from "playwright-core";
import { copiedBy, describe, noStorage, secretField, test } from "../support/browser.ts";
import { signIn, textIn, useConsole, waitForHeading, waitForText } from "../support/console-session.ts";
import { memoize } from "../support/memoize.ts";
import { mintToken } from "../support/operator-requests.ts";
import { accessToken } from "../support/tokens.ts";

const session = useConsole(10);
const { open } = session;

describe("signing in", () => {
  const unaccepted: [what: string, token: string, reason: string][] = [
    ["without a token", "", "Enter a token"],
    ["with what is no token", "schlüssel", "unknown, expired or revoked"],
    ["with a token that lacks the scope", accessToken, "lacks the scope “operator:read”"],
  ];
  /** Reads the form, and tries to sign in with each of these tokens in turn. */
  const tryForm = memoize(async () => {
    const page = await open("/", { token: "" });
    const field = await secretField(page, "Token");
    const command = await textIn(page, ".how .code");
    const copiedCommand = await copiedBy(page.getByRole("button", { name: "Copy command" }));
    const refusals = new Map<string, { error: string; isInvalid: string | null }>();
    for (const [, token, reason] of unaccepted) {
      await page.getByLabel("Token").fill(token);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.locator(".field-error", { hasText: reason }).waitFor();
      refusals.set(token, {
        error: await textIn(page, ".field-error"),
        isInvalid: await page.getByLabel("Token").getAttribute("aria-invalid"),
      });
    }
    return { field, command, copiedCommand, refusals };
  });

  test.each(unaccepted)("%s is refused at the field", async (_, token, reason) => {
    const refusal = (await tryForm()).refusals.get(token);
    expect(refusal?.error).toContain(reason);
    expect(refusal?.isInvalid).toBe("true");
  });

  /** Opens the console with a token from earlier that is refused. */
  const openRefused = memoize(async () => {
    const page = await open("/", { token: "an-earlier-token" });
    await page.locator(".field-error").waitFor();
    const form = await textIn(page, ".sign-in form");
    return { form, storedItems: await page.evaluate<number>("sessionStorage.length") };
  });

  test("with an earlier token that is refused says so once", async () => {
    expect((await openRefused()).form.split("unknown, expired or revoked")).toHaveLength(2);
  });

  test("with an earlier token that is refused removes it from the browser", async () => {
    expect((await openRefused()).storedItems).toBe(0);
  });

  test("with another token is possible while the service cannot check the earlier one", async () => {
    const page = await open("/livez", { token: "an-earlier-token" });
    await page.route("**/api/me", (route) => route.abort());
    await page.goto(session.service.operatorUrl);
    await page.locator(".field-error").waitFor();
    await signIn(page, session.secret);
    await waitForHeading(page, "Overview");
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

  test("with another token is not undone by a late refusal of the earlier one", async () => {
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
    const refusal = JSON.stringify({ error: 40102, message: "This token is unknown." });
    await earlier.fulfill({ status: 401, contentType: "application/json", body: refusal }).catch(() => {});
    await page.getByRole("link", { name: "Tokens" }).click();
    await waitForHeading(page, "Tokens");
  });

  test("hides the token that is entered", async () => {
    expect((await tryForm()).field).toEqual({ type: "text", autocomplete: "off", shown: "disc" });
  });

  test("shows how to create a token", async () => {
    const { command, copiedCommand } = await tryForm();
    expect(command).toContain("--name ops --scope operator");
    expect(copiedCommand).toBe(command);
  });

  test("too often says when to try again", async () => {
    const { secret } = await mintToken(session.service, { name: "impatient", scopes: ["operator:read"] });
    const page = await open("/", { token: "" });
    await page.route("**/api/sign-in", async (route) => {
      let response = await route.fetch();
      while (response.ok()) response = await route.fetch();
      await route.fulfill({ response });
    });
    await signIn(page, secret);
    await page.locator(".field-error").waitFor();
    expect(await textIn(page, ".field-error")).toMatch(/limit of 60 actions per minute.* Try again in 1 s\./);
  });

  /** Signs in at the audit trail, and collects what is shown then, and after a reload. */
  const signInAtAudit = memoize(async () => {
    const page = await open("/audit", { token: "" });
    await signIn(page, session.secret);
    const newest = page.locator(".audit tr", { has: page.locator("time") }).first();
    await newest.waitFor();
    const entry = await newest.textContent();
    const heading = await textIn(page, "h1");
    await page.reload();
    await newest.waitFor();
    return { entry, heading, headingAfterReload: await textIn(page, "h1") };
  });

  test("opens the requested page", async () => {
    expect((await signInAtAudit()).heading).toBe("Audit");
  });

  test("is the newest entry of the audit trail", async () => {
    expect((await signInAtAudit()).entry).toMatch(
      /ops signed in to the console with operator, plants:create.*127\.0\.0\.1/s,
    );
  });

  test("lasts across a reload", async () => {
    expect((await signInAtAudit()).headingAfterReload).toBe("Audit");
  });

  test("lasts until the user signs out", async () => {
    const page = await open("/");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
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

describe("someone with a token that only reads", () => {
  const mintReader = memoize(() => mintToken(session.service, { name: "reader", scopes: ["operator:read"] }));
  async function visitAsReader(path: string): Promise<Page> {
    const { secret } = await mintReader();
    return open(path, { token: secret });
  }

  test("gets links to the overview and the plants alone", async () => {
    const page = await visitAsReader("/plants");
    await page.locator(".rows .row").first().waitFor();
    expect(await page.getByRole("navigation").getByRole("link").allTextContents()).toEqual([
      expect.stringContaining("Overview"),
      expect.stringContaining("Plants"),
    ]);
  });

  test.each([
    ["the overview", "/", ".latest a"],
    ["the plants", "/plants", ".rows .row"],
  ])("is offered nothing on the page of %s that creates plants", async (_, path, content) => {
    const page = await visitAsReader(path);
    await page.locator(content).first().waitFor();
    const offered = page.locator("main").getByText(/add a plant|import/i);
    expect(await offered.count()).toBe(0);
  });

  test("is told which scope the page of the tokens needs", async () => {
    const page = await visitAsReader("/tokens");
    await waitForText(page, "Sign in with a token that has the scope “operator”.");
  });
});

test("someone whose token creates no plants is told which scope an import needs", async () => {
  const { secret } = await mintToken(session.service, { name: "manager", scopes: ["operator"] });
  const page = await open("/import", { token: secret });
  await waitForText(page, "Sign in with a token that has the scope “plants:create”.");
  expect(await page.locator("input[type=file]").count()).toBe(0);
});
