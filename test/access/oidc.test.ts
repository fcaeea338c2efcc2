// Tokens of an identity provider: which are accepted, which hostile ones are refused, and how its users sign in to the console.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { exportJWK, exportSPKI, generateKeyPair } from "jose";
import type { Browser, Page } from "playwright-core";
import type { JsonFrom } from "../../src/operator/operator-table.ts";
import {
  browserMissing,
  describe as describeInBrowser,
  newPage,
  noStorage,
  openBrowser,
} from "../support/browser.ts";
import { stoppedWallClock } from "../support/clock.ts";
import { collectErrors } from "../support/console-session.ts";
import { eventually } from "../support/eventually.ts";
import { audience, inSeconds, keyId, startProvider } from "../support/identity-provider.ts";
import { operatorFetch, operatorGet } from "../support/operator-requests.ts";
import { errorIn, post } from "../support/post-plants.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

let provider: Awaited<ReturnType<typeof startProvider>>;
let service: TestService;
let browser: Browser | undefined;

beforeAll(async () => {
  provider = await startProvider();
  const flags = { "oidc-client-id": "console", "max-body-bytes": "2000000" };
  service = await startTestService({ ...provider.flags, ...flags });
  provider.registerConsole(`${service.operatorUrl}/`);
  if (!browserMissing) browser = await openBrowser();
  const jwt = await provider.token("plants:create");
  await eventually(async () => (await post(service.url, "", bearer(jwt))).status === 400, "the keys");
});
afterAll(async () => {
  await browser?.close();
  await service[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const get = (path: string, jwt: string) => operatorFetch(service, `/api/${path}`, { token: jwt });

describe("an access token of the provider", () => {
  test("creates plants and reads under its client's name", async () => {
    const jwt = await provider.token("plants:create");
    expect((await post(service.url, '{"id":1,"name":"Fern"}', bearer(jwt))).status).toBe(200);
    const stored = storedPlants(service.database).find(({ id }) => id === 1n);
    expect(stored?.created_by).toBe("oidc:client:greenhouse");
    const me = await (await get("me", await provider.token("operator"))).json();
    expect(me).toMatchObject({ name: "oidc:client:greenhouse", scopes: ["operator"], hasJwt: true });
    const { senders } = await operatorGet<JsonFrom<"GET /api/senders">>(service, "/api/senders");
    expect(senders).toContainEqual(expect.objectContaining({ name: "oidc:client:greenhouse" }));
  });

  test("without the scope creates and reads nothing", async () => {
    const created = await post(service.url, "{}", bearer(await provider.token("operator")));
    expect(await errorIn(created)).toMatchObject({ error: 40301 });
    const read = await get("plants", await provider.token("plants:create"));
    expect(await errorIn(read)).toMatchObject({ error: 40301 });
  });

  test("may be verified while a large body arrives", async () => {
    const body = JSON.stringify({ id: 91, name: "x".repeat(1_500_000) });
    for (let round = 0; round < 5; round++) {
      const jwt = await provider.sign({ exp: inSeconds(300), jti: crypto.randomUUID() });
      expect((await post(service.url, body, bearer(jwt))).status).toBe(200);
    }
  });
});

test("a token that a caller with a JWT creates expires after 90 days, as the console is told, and no later", async () => {
  const token = await provider.token("operator");
  const create = (body: object) =>
    operatorFetch(service, "/api/tokens", { method: "POST", token, body: JSON.stringify(body) });
  /** Rounded, since time passes between the calls. */
  const daysBetween = (from: string, until: string) =>
    Math.round((Date.parse(until) - Date.parse(from)) / 864_000) / 100;
  const { token: created } = JSON.parse(await (await create({ name: "by-jwt" })).text());
  expect(daysBetween(created.createdAt, created.expiresAt)).toBe(90);
  const me = JSON.parse(await (await get("me", token)).text());
  expect(daysBetween(new Date().toISOString(), me.tokensExpireBy)).toBe(90);
  expect((await create({ name: "too-long", expiresIn: "91d" })).status).toBe(400);
});

test("a hostile token creates and reads nothing, nor makes the service ask another address for keys", async () => {
  // A verifier that trusts a key in a token, or the URL of one, gets the key that the token is signed with.
  const foreign = await generateKeyPair("RS256", { extractable: true });
  const foreignJwk = { ...(await exportJWK(foreign.publicKey)), kid: keyId, alg: "RS256" };
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

  const { sign, keyPair } = provider;
  const good = { exp: inSeconds(300) };
  const missing = undefined as never;
  // Good claims and their signature, to be put behind another header.
  const [, claims = "", signature = ""] = (await sign(good)).split(".");
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const header = (more: object = {}) => encode({ alg: "RS256", typ: "at+jwt", kid: keyId, ...more });
  /** Signed with the provider's own key, under a header that jose refuses to sign. */
  const signWithHeader = async (more: object) => {
    const text = Buffer.from(`${header(more)}.${claims}`);
    const bytes = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", keyPair.privateKey, text);
    return `${text}.${Buffer.from(bytes).toString("base64url")}`;
  };
  const publicPem = new TextEncoder().encode(await exportSPKI(keyPair.publicKey));
  const changed = encode({ ...good, iss: provider.issuer, aud: audience, scope: "operator" });

  const hostile: Record<string, string | Promise<string>> = {
    "a key at its own address": sign(good, { jku: ownUrl, x5u: ownUrl }, foreign.privateKey),
    "its own key in the header": sign(good, { jwk: foreignJwk }, foreign.privateKey),
    "a critical header that nobody knows": signWithHeader({ crit: ["unknown"], unknown: 1 }),
    "claims that are not encoded": signWithHeader({ crit: ["b64"], b64: false }),
    "the signature of another key": sign(good, {}, foreign.privateKey),
    "the algorithm none": `${encode({ alg: "none", typ: "at+jwt" })}.${claims}.`,
    "the algorithm none and a signature": `${header({ alg: "none" })}.${claims}.${signature}`,
    "an HMAC with the public key": sign(good, { alg: "HS256" }, publicPem),
    "another audience": sign({ ...good, aud: "https://other.example.org" }),
    "no audience": sign({ ...good, aud: missing }),
    "another issuer": sign({ ...good, iss: "https://other.example.org" }),
    "no issuer": sign({ ...good, iss: missing }),
    "no expiry": sign({}),
    "an expiry in the past": sign({ exp: inSeconds(-1) }),
    "a time before which it is not valid": sign({ ...good, nbf: inSeconds(120) }),
    "an unknown key": sign(good, { kid: "key-2" }),
    "a type that is no access token": sign(good, { typ: "logout+jwt" }),
    "no type": sign(good, { typ: missing }),
    "changed claims": `${header()}.${changed}.${signature}`,
    "neither client nor user": sign({ ...good, client_id: missing, sub: missing }),
    "no JSON": "a.b.c",
  };
  const admitted: string[] = [];
  for (const [what, signing] of Object.entries(hostile)) {
    const jwt = await signing;
    const created = await post(service.url, '{"id":666,"name":"Triffid"}', bearer(jwt));
    const errors = [await errorIn(created), await errorIn(await get("plants", jwt))];
    if (errors.some(({ error }) => error !== 40102)) admitted.push(what);
  }
  expect(admitted).toEqual([]);
  expect(storedPlants(service.database).filter(({ id }) => id === 666n)).toEqual([]);
  expect(asked).toEqual([]);
});

test("an unreachable provider does not prevent a start, and leaves its tokens undecided: 50304", async () => {
  const issuer = "http://127.0.0.1:1";
  await using service = await startTestService({ ...provider.flags, "oidc-issuer": issuer });
  const plant = '{"id":1,"name":"Fern"}';
  expect((await post(service.url, plant)).status).toBe(200);
  const jwt = await provider.sign({ exp: inSeconds(300), iss: issuer });
  const response = await post(service.url, plant, bearer(jwt));
  expect(await errorIn(response)).toMatchObject({ error: 50304 });
  expect(response.headers.get("retry-after")).toBe("1");
  await eventually(() => service.logged.join("").includes("identity provider unavailable"));
});

let shared: Page | undefined;
// What went wrong in the shared page since it was opened last.
const errors: string[] = [];

/**
 * Opens the console in the one page of these tests, as in a tab that has only this in its storage: another page takes three times
 * the CPU time.
 */
async function open(path: string, storage: Record<string, string> = {}): Promise<Page> {
  if (shared === undefined) {
    shared = await newPage(browser as Browser);
    collectErrors(shared, errors);
  }
  const page = shared;
  await page.unrouteAll({ behavior: "ignoreErrors" });
  // The provider remembers who signed in.
  await page.context().clearCookies();
  // What is stored belongs to an origin.
  if (new URL(page.url()).origin !== service.operatorUrl) await page.goto(`${service.operatorUrl}/livez`);
  await page.evaluate(`sessionStorage.clear(); Object.assign(sessionStorage, ${JSON.stringify(storage)})`);
  errors.length = 0;
  await page.goto(service.operatorUrl + path);
  return page;
}

/** On the provider's own pages: a login, and the consent to the scopes. */
async function logIn(page: Page, user: string): Promise<void> {
  await page.locator("input[name=login]").fill(user);
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.locator("input[name=prompt][value=consent]").waitFor({ state: "attached" });
  await page.locator("button[type=submit]").click();
}

/** Opens a page as a user whom the provider has signed in before. */
async function openAs(user: string, path: string): Promise<Page> {
  const jwt = await provider.sign({ exp: inSeconds(300), client_id: "console", sub: user });
  const page = await open(path, { "plant-store-token": jwt });
  await page.locator(".who").getByText(`oidc:user:${user}`).waitFor();
  return page;
}

const stored = (page: Page, key: string) => page.evaluate<string | null>(`sessionStorage.getItem("${key}")`);

describeInBrowser("signing in to the console with an identity provider", () => {
  test("leads back to the page that was open, until the user signs out", async () => {
    const page = await open("/plants?name=fern");
    const signIn = page.getByRole("button", { name: `Sign in with ${new URL(provider.issuer).host}` });
    await signIn.click();
    await logIn(page, "alice");
    await page.locator(".who").getByText("oidc:user:alice").waitFor();
    expect(page.url()).toBe(`${service.operatorUrl}/plants?name=fern`);
    expect(await stored(page, "plant-store-sign-in")).toBeNull();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
    // The provider's own pages ask for a font.
    expect(errors.filter((error) => !error.includes("fonts.googleapis.com"))).toEqual([]);
  });

  test("lets the user create a token that outlives the session", async () => {
    const page = await openAs("carol", "/tokens");
    await page.getByRole("button", { name: "Create a token" }).click();
    const expiries = await page.getByLabel("Expires").getByRole("option").allTextContents();
    expect(expiries).toEqual([expect.stringMatching(/^Latest: \d+ /), "After 1 day", "After 30 days"]);
  });

  // What a tab stores of a sign-in that it has started.
  const pending = { state: "s", nonce: "n", codeVerifier: "v", returnTo: "/tokens" };

  test.each([
    ["with another state", "code=c&state=other", "This sign-in was not started in this tab."],
    [
      "of another issuer",
      "code=c&state=s&iss=https://other.example.org",
      "The response is not the identity provider's.",
    ],
    ["with an error", "error=access_denied&state=s", "The identity provider refused: access_denied."],
    ["with an unknown code", "code=unknown&state=s", "The identity provider refused the sign-in."],
  ])("does not accept a response %s", async (_, query, message) => {
    const page = await open(`/?${query}`, { "plant-store-sign-in": JSON.stringify(pending) });
    await page.getByText(message).waitFor();
    expect(await stored(page, "plant-store-token")).toBeNull();
    expect(page.url()).toBe(`${service.operatorUrl}/tokens`);
  });

  test.each([
    ["this tab did not ask for", undefined],
    // As of a page that was opened at //x/y, which as a URL means another host.
    ["leads back to a path that means another host", '{"state":"other","returnTo":"//x/y"}'],
    ["leads back to what cannot be read", "{"],
  ])("does not accept a response that %s, and opens the console", async (_, asked) => {
    const page = await open("/?code=c&state=s", asked === undefined ? {} : { "plant-store-sign-in": asked });
    await page.getByText("This sign-in was not started in this tab.").waitFor();
    expect(page.url()).toBe(`${service.operatorUrl}/`);
    expect(errors).toEqual([]);
  });

  test("is offered, and goes on, once a service that did not respond does", async () => {
    const page = await open("/livez", { "plant-store-sign-in": JSON.stringify(pending) });
    let asked = 0;
    await page.route("**/api/identity-provider", (route) => {
      asked++;
      return asked === 1 ? route.abort() : route.continue();
    });
    await page.goto(`${service.operatorUrl}/?code=unknown&state=s`);
    await page.getByRole("button", { name: /^Sign in with/ }).waitFor();
    await page.getByText("The identity provider refused the sign-in.").waitFor();
    expect(asked).toBe(2);
  });

  test("is not started in a browser that would not remember it", async () => {
    const page = await newPage(browser as Browser);
    await page.addInitScript(noStorage("sessionStorage"));
    await page.goto(service.operatorUrl);
    await page.getByRole("button", { name: /^Sign in with/ }).click();
    await page.getByText("The browser stores nothing for this page").waitFor();
    await page.context().close();
  });

  test("does not accept tokens that were issued for another sign-in", async () => {
    const page = await newPage(browser as Browser);
    // As if the tab had asked with another nonce.
    await page.addInitScript(`
        const pending = JSON.parse(sessionStorage.getItem("plant-store-sign-in"));
        if (pending !== null && new URLSearchParams(location.search).has("code"))
          sessionStorage.setItem("plant-store-sign-in", JSON.stringify({ ...pending, nonce: "other" }));
      `);
    await page.goto(service.operatorUrl);
    await page.getByRole("button", { name: /^Sign in with/ }).click();
    await logIn(page, "mallory");
    await page.getByText("tokens are not for this sign-in").waitFor();
    expect(await stored(page, "plant-store-token")).toBeNull();
    await page.context().close();
  });

  test("is asked for again when the access token has expired", async () => {
    const page = await openAs("bob", "/plants");
    using _clock = stoppedWallClock(Date.now() + 301_000);
    await page.getByText("Your session has ended. Sign in again.").waitFor();
    await page.getByRole("button", { name: /^Sign in with/ }).waitFor();
    expect(page.url()).toBe(`${service.operatorUrl}/plants`);
  });
});

test("the console's Content-Security-Policy allows connections to the provider if people sign in there", async () => {
  const policyOf = async (url: string) => (await fetch(url)).headers.get("content-security-policy");
  expect(await policyOf(service.operatorUrl)).toContain(`connect-src 'self' ${provider.issuer};`);
  await using without = await startTestService(provider.flags);
  expect(await policyOf(without.operatorUrl)).toContain("connect-src 'self';");
  expect(await operatorGet(without, "/api/identity-provider", { token: null })).toEqual({});
});
