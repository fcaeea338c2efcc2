import { afterAll, beforeAll, expect, setSystemTime, test } from "bun:test";
import { exportJWK, exportSPKI, generateKeyPair } from "jose";
import type { Browser, Page } from "playwright-core";
import { axeViolations, browserMissing, describe, newPage, openBrowser } from "./browser.ts";
import { collectErrors } from "./console-session.ts";
import { eventually, post, startTestService, storedPlants, type TestService } from "./harness.ts";
import { audience, inSeconds, keyId, startProvider } from "./identity-provider.ts";

let provider: Awaited<ReturnType<typeof startProvider>>;
let running: TestService;
let browser: Browser | undefined;

beforeAll(async () => {
  provider = await startProvider();
  const flags = { "oidc-client-id": "console", "max-body-bytes": "2000000" };
  running = await startTestService({ ...provider.flags, ...flags });
  provider.registerConsole(`${running.operatorUrl}/`);
  if (!browserMissing) browser = await openBrowser();
  const jwt = await provider.token("plants:create");
  await eventually(async () => (await post(running.url, "", bearer(jwt))).status === 400, "the keys");
});
afterAll(async () => {
  await browser?.close();
  await running[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
  // No JWT was ever logged.
  expect(running.logged.join("")).not.toContain("eyJ");
});

const bearer = (jwt: string) => ({ Authorization: `Bearer ${jwt}` });
const errorOf = async (response: Response) => ((await response.json()) as { error?: number }).error;

test("the token's scopes decide what it may do, under its client's name", async () => {
  const [creator, operator] = [await provider.token("plants:create"), await provider.token("operator")];
  const get = (path: string, jwt: string) =>
    fetch(`${running.operatorUrl}/api/${path}`, { headers: bearer(jwt) });
  expect((await post(running.url, '{"id":1,"name":"Fern"}', bearer(creator))).status).toBe(200);
  expect(storedPlants(running.database)).toMatchObject([{ created_by: "oidc:client:greenhouse" }]);
  expect(await errorOf(await get("plants", creator))).toBe(40301);
  expect(await errorOf(await post(running.url, '{"id":90,"name":"x"}', bearer(operator)))).toBe(40301);
  const me = await (await get("me", operator)).json();
  expect(me).toMatchObject({ name: "oidc:client:greenhouse", scopes: ["operator"] });
});

test("a hostile token reads nothing and changes nothing", async () => {
  const before = storedPlants(running.database).length;
  const { sign, keyPair } = provider;
  const publicPem = new TextEncoder().encode(await exportSPKI(keyPair.publicKey));
  const foreign = await generateKeyPair("RS256", { extractable: true });
  const foreignJwk = { ...(await exportJWK(foreign.publicKey)), kid: keyId, alg: "RS256" };
  // A verifier that trusts the key URL in a token gets the key that it is signed with.
  const asked: string[] = [];
  using ownServer = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      asked.push(request.url);
      return Response.json({ keys: [foreignJwk] });
    },
  });
  const ownUrl = `http://127.0.0.1:${ownServer.port}/jwks`;
  const good = { exp: inSeconds(300) };
  const [, claims = "", signature = ""] = (await sign(good)).split(".");
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const header = (more: object = {}) => part({ alg: "RS256", typ: "at+jwt", kid: keyId, ...more });
  const withHeader = async (more: object, payload: string) => {
    const text = `${header(more)}.${payload}`;
    const bytes = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", keyPair.privateKey, Buffer.from(text));
    return `${text}.${Buffer.from(bytes).toString("base64url")}`;
  };
  const none = undefined as never;
  const hostile: Record<string, string> = {
    "a key at its own address": await sign(good, { jku: ownUrl, x5u: ownUrl }, foreign.privateKey),
    "its own key in the header": await sign(good, { jwk: foreignJwk }, foreign.privateKey),
    "a critical header that nobody knows": await withHeader({ crit: ["unknown"], unknown: 1 }, claims),
    "claims that are not encoded": await withHeader({ crit: ["b64"], b64: false }, claims),
    "wrong key": await sign(good, {}, foreign.privateKey),
    "alg none": `${part({ alg: "none", typ: "at+jwt" })}.${claims}.`,
    "alg none with a signature": `${header({ alg: "none" })}.${claims}.${signature}`,
    "HMAC with the public key": await sign(good, { alg: "HS256" }, publicPem),
    "wrong audience": await sign({ ...good, aud: "https://other.example.org" }),
    "no audience": await sign({ ...good, aud: none }),
    "wrong issuer": await sign({ ...good, iss: "https://other.example.org" }),
    "no issuer": await sign({ ...good, iss: none }),
    "no expiry": await sign({}),
    expired: await sign({ exp: inSeconds(-1) }),
    "not yet valid": await sign({ ...good, nbf: inSeconds(120) }),
    "unknown key": await sign(good, { kid: "key-2" }),
    "a type that is no access token": await sign(good, { typ: "logout+jwt" }),
    "no type": await sign(good, { typ: none }),
    "changed claims": `${header()}.${part({ ...good, iss: provider.issuer, aud: audience, scope: "operator" })}.${signature}`,
    "nobody's": await sign({ ...good, client_id: none, sub: none }),
    "no JSON": "a.b.c",
  };
  for (const [what, jwt] of Object.entries(hostile)) {
    const answers = [
      await post(running.url, '{"id":666,"name":"Triffid"}', bearer(jwt)),
      await fetch(`${running.operatorUrl}/api/plants`, { headers: bearer(jwt) }),
    ];
    for (const answer of answers) expect([what, await errorOf(answer)]).toEqual([what, 40102]);
  }
  expect(asked).toEqual([]);
  expect(storedPlants(running.database)).toHaveLength(before);
});

test("a token that such a caller creates is valid for 90 days at the most", async () => {
  const headers = bearer(await provider.token("operator"));
  const create = (body: object) =>
    fetch(`${running.operatorUrl}/api/tokens`, { method: "POST", headers, body: JSON.stringify(body) });
  const { token } = JSON.parse(await (await create({ name: "by-jwt" })).text());
  const me = JSON.parse(await (await fetch(`${running.operatorUrl}/api/me`, { headers })).text());
  for (const expiry of [token.expiresAt, me.tokensExpireBy]) {
    const days = (Date.parse(expiry) - Date.parse(token.createdAt)) / 86_400_000;
    expect(Math.round(days * 100) / 100).toBe(90);
  }
  expect((await create({ name: "too-long", expiresIn: "91d" })).status).toBe(400);
});

test("a large body may arrive while its token is being verified", async () => {
  const body = JSON.stringify({ id: 91, name: "x".repeat(1_500_000) });
  for (let round = 0; round < 5; round++) {
    const jwt = await provider.sign({ exp: inSeconds(300), jti: crypto.randomUUID() });
    expect((await post(running.url, body, bearer(jwt))).status).toBe(200);
  }
});

test("an unreachable provider does not prevent a start, and its tokens get 50304 until it responds", async () => {
  const unreachable = { ...provider.flags, "oidc-issuer": "http://127.0.0.1:1" };
  await using service = await startTestService(unreachable);
  const jwt = await provider.sign({ exp: inSeconds(300), iss: unreachable["oidc-issuer"] });
  const response = await post(service.url, '{"id":1,"name":"Fern"}', bearer(jwt));
  expect([await errorOf(response), response.headers.get("retry-after")]).toEqual([50304, "1"]);
  expect((await post(service.url, '{"id":1,"name":"Fern"}')).status).toBe(200);
  await eventually(() => service.logged.join("").includes("identity provider unavailable"));
});

async function open(path: string): Promise<{ page: Page; errors: string[] }> {
  const page = await newPage(browser as Browser);
  const errors: string[] = [];
  collectErrors(page, errors);
  await page.goto(running.operatorUrl + path);
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
  test("leads back to the page that was open, under the user's own name, with nothing left in the address", async () => {
    const { page, errors } = await open("/plants?name=fern");
    const signIn = page.getByRole("button", { name: `Sign in with ${new URL(provider.issuer).host}` });
    await signIn.waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await signIn.click();
    await logIn(page, "alice");
    await page.locator(".who").getByText("oidc:user:alice").waitFor();
    expect(page.url()).toBe(`${running.operatorUrl}/plants?name=fern`);
    expect(await stored(page, "plant-store-sign-in")).toBeNull();
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("button", { name: "Create a token" }).click();
    // The token may outlive this session, which ends within minutes.
    const expiries = await page.getByLabel("Expires").getByRole("option").allTextContents();
    expect(expiries).toEqual([expect.stringMatching(/^Latest: \d+ /), "After 1 day", "After 30 days"]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
    // The provider's own pages ask for a font.
    expect(errors.filter((error) => !error.includes("fonts.googleapis.com"))).toEqual([]);
    await page.context().close();
  });

  test("does not accept a response that this tab did not ask for, or with another state, nonce or issuer", async () => {
    const { page } = await open("/?code=stolen&state=of-someone-else");
    await page.getByText("This sign-in was not started in this tab.").waitFor();
    expect(page.url()).toBe(`${running.operatorUrl}/`);

    const pending = { state: "s", nonce: "n", codeVerifier: "v", returnTo: "/tokens" };
    const respond = async (query: string, message: string) => {
      await page.evaluate(`sessionStorage.setItem("plant-store-sign-in", '${JSON.stringify(pending)}')`);
      await page.goto(`${running.operatorUrl}/?${query}`);
      await page.getByText(message).waitFor();
      expect([query, await stored(page, "plant-store-token")]).toEqual([query, null]);
      expect(page.url()).toBe(`${running.operatorUrl}/tokens`);
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
  });

  test("ends with the access token: the user reads why and is asked to sign in again", async () => {
    const { page } = await open("/plants");
    const jwt = await provider.sign({ exp: inSeconds(300), client_id: "console", sub: "bob" });
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
    expect(page.url()).toBe(`${running.operatorUrl}/plants`);
    await page.context().close();
  });

  test("allows connections to the provider only, and none without one", async () => {
    const policyOf = async (url: string) => (await fetch(url)).headers.get("content-security-policy");
    expect(await policyOf(running.operatorUrl)).toContain(`connect-src 'self' ${provider.issuer};`);
    await using plain = await startTestService(provider.flags);
    expect(await policyOf(plain.operatorUrl)).toContain("connect-src 'self';");
    expect(await (await fetch(`${plain.operatorUrl}/api/identity-provider`)).json()).toEqual({});
  });
});
