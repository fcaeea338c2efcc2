import { afterAll, beforeAll, expect, setSystemTime } from "bun:test";
import axe, { type AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { browserMissing, describe, openBrowser, test } from "./browser.ts";
import { startTestService, storedPlants, type TestService } from "./harness.ts";
import { inSeconds, startProvider, type TestProvider } from "./identity-provider.ts";

const testMs = 40_000;
const parts: { provider?: TestProvider; running?: TestService; browser?: Browser } = {};
const provider = () => parts.provider as TestProvider;
const running = () => parts.running as TestService;

beforeAll(async () => {
  if (browserMissing) return;
  parts.provider = await startProvider();
  parts.running = await startTestService({ ...parts.provider.flags, "oidc-client-id": "console" });
  parts.provider.registerConsole(`${parts.running.operatorUrl}/`);
  parts.browser = await openBrowser();
}, 60_000);
afterAll(async () => {
  await parts.browser?.close();
  await parts.running?.[Symbol.asyncDispose]();
  await parts.provider?.[Symbol.asyncDispose]();
});

async function open(path: string): Promise<{ page: Page; errors: string[] }> {
  const context = await (parts.browser as Browser).newContext();
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      errors.push(message.text());
  });
  await page.goto(running().operatorUrl + path);
  return { page, errors };
}

/** On the provider's own pages: a login, and the consent to the scopes. */
async function logIn(page: Page, user: string): Promise<void> {
  await page.locator("input[name=login]").fill(user);
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.locator("input[name=prompt][value=consent]").waitFor({ state: "attached" });
  await page.locator("button[type=submit]").click();
}

const stored = (page: Page, key: string) => page.evaluate<string | null>(`sessionStorage.getItem("${key}")`);

describe("signing in to the console with an identity provider", () => {
  test(
    "leads back to the page that was open, under the user's own name, with nothing left in the address",
    async () => {
      const { page, errors } = await open("/plants?name=fern");
      const signIn = page.getByRole("button", { name: `Sign in with ${new URL(provider().issuer).host}` });
      await signIn.waitFor();
      await page.evaluate(axe.source);
      expect(((await page.evaluate("axe.run()")) as AxeResults).violations).toEqual([]);
      await signIn.click();
      await logIn(page, "alice");
      await page.locator(".who").getByText("oidc:user:alice").waitFor();
      expect(page.url()).toBe(`${running().operatorUrl}/plants?name=fern`);
      expect(await stored(page, "plant-store-sign-in")).toBeNull();
      await page.getByRole("button", { name: "Add a plant" }).click();
      await page.locator("dialog").getByLabel("Id", { exact: true }).fill("7");
      await page.locator("dialog").getByLabel("Name").fill("Fern");
      await page.getByRole("button", { name: "Add plant" }).click();
      await page.getByText("The plant is stored.").waitFor();
      expect(storedPlants(running().database)).toMatchObject([{ id: 7n, created_by: "oidc:user:alice" }]);
      await page.reload();
      await page.locator(".who").getByText("oidc:user:alice").waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("Token").waitFor();
      expect(await page.evaluate("sessionStorage.length")).toBe(0);
      expect(errors).toEqual([]);
      const jwtPart = "eyJ";
      expect(running().logged.join("")).not.toContain(jwtPart);
      await page.context().close();
    },
    testMs,
  );

  test(
    "does not accept a response that this tab did not ask for, or with another state, nonce or issuer",
    async () => {
      const { page } = await open("/?code=stolen&state=of-someone-else");
      await page.getByText("This sign-in was not started in this tab.").waitFor();
      expect(page.url()).toBe(`${running().operatorUrl}/`);

      const pending = { state: "s", nonce: "n", codeVerifier: "v", returnTo: "/tokens" };
      const respond = async (query: string, message: string) => {
        await page.evaluate(`sessionStorage.setItem("plant-store-sign-in", '${JSON.stringify(pending)}')`);
        await page.goto(`${running().operatorUrl}/?${query}`);
        await page.getByText(message).waitFor();
        expect([query, await stored(page, "plant-store-token")]).toEqual([query, null]);
        expect(page.url()).toBe(`${running().operatorUrl}/tokens`);
      };
      await respond("code=c&state=other", "This sign-in was not started in this tab.");
      await respond(
        "code=c&state=s&iss=https://other.example.org",
        "The response is not the identity provider's.",
      );
      await respond("error=access_denied&state=s", "The identity provider refused: access_denied.");
      await respond("code=unknown&state=s", "The identity provider refused the sign-in.");

      // The tokens are real ones, but were issued for another sign-in.
      await page.getByRole("button", { name: /^Sign in with/ }).click();
      await page.locator("input[name=login]").waitFor();
      await page.addInitScript(`
        const pending = JSON.parse(sessionStorage.getItem("plant-store-sign-in"));
        if (pending !== null && new URLSearchParams(location.search).has("code"))
          sessionStorage.setItem("plant-store-sign-in", JSON.stringify({ ...pending, nonce: "other" }));
      `);
      await logIn(page, "mallory");
      await page.getByText("tokens are not for this sign-in").waitFor();
      expect(await stored(page, "plant-store-token")).toBeNull();
      await page.context().close();
    },
    testMs,
  );

  test(
    "ends with the access token: the user reads why and is asked to sign in again",
    async () => {
      const { page } = await open("/plants");
      const jwt = await provider().sign({ exp: inSeconds(300), client_id: "console", sub: "bob" });
      await page.evaluate(`sessionStorage.setItem("plant-store-token", "${jwt}")`);
      await page.reload();
      await page.locator(".who").getByText("oidc:user:bob").waitFor();
      try {
        setSystemTime(Date.now() + 301_000);
        await page.getByText("Your session has ended. Sign in again.").waitFor();
      } finally {
        setSystemTime();
      }
      await page.getByRole("button", { name: /^Sign in with/ }).waitFor();
      expect(page.url()).toBe(`${running().operatorUrl}/plants`);
      await page.context().close();
    },
    testMs,
  );

  test("allows connections to the provider only, and none without one", async () => {
    const policyOf = async (url: string) => (await fetch(url)).headers.get("content-security-policy");
    expect(await policyOf(running().operatorUrl)).toContain(`connect-src 'self' ${provider().issuer};`);
    await using plain = await startTestService(provider().flags);
    expect(await policyOf(plain.operatorUrl)).toContain("connect-src 'self';");
    expect(await (await fetch(`${plain.operatorUrl}/api/identity-provider`)).json()).toEqual({});
  });
});
