import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { exportJWK, exportSPKI, generateKeyPair } from "jose";
import {
  eventually,
  operatorToken,
  post,
  startTestService,
  storedPlants,
  type TestService,
} from "./harness.ts";
import { audience, inSeconds, keyId, startProvider, type TestProvider } from "./identity-provider.ts";

const bearer = (jwt: string) => ({ Authorization: `Bearer ${jwt}` });
const errorOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { error?: number }).error,
];

async function knowsKeys(running: TestService, provider: TestProvider): Promise<void> {
  const jwt = await provider.token("plants:create");
  await eventually(async () => (await post(running.url, "", bearer(jwt))).status === 400);
}

test("an unreachable provider does not prevent a start, and its tokens get 50304 until it responds", async () => {
  const provider = await startProvider();
  const jwt = await provider.token("plants:create");
  await provider[Symbol.asyncDispose]();
  await using running = await startTestService(provider.flags);
  const response = await post(running.url, '{"id":1,"name":"Fern"}', bearer(jwt));
  expect([...(await errorOf(response)), response.headers.get("retry-after")]).toEqual([503, 50304, "1"]);
  expect((await post(running.url, '{"id":1,"name":"Fern"}')).status).toBe(200);
  expect(running.logged.join("")).toContain("identity provider unavailable");
});

test("without an identity provider a JWT is an unknown token", async () => {
  await using provider = await startProvider();
  await using running = await startTestService();
  const response = await post(
    running.url,
    '{"id":1,"name":"Fern"}',
    bearer(await provider.token("plants:create")),
  );
  expect(await errorOf(response)).toEqual([401, 40102]);
});

describe("with an identity provider", () => {
  const parts: { provider?: TestProvider; running?: TestService } = {};
  const provider = () => parts.provider as TestProvider;
  const running = () => parts.running as TestService;
  beforeAll(async () => {
    parts.provider = await startProvider();
    parts.running = await startTestService({
      ...parts.provider.flags,
      "max-body-bytes": "2000000",
    });
    await knowsKeys(running(), provider());
  });
  afterAll(async () => {
    await parts.running?.[Symbol.asyncDispose]();
    await parts.provider?.[Symbol.asyncDispose]();
  });

  test("a service creates plants with its token, under its own name", async () => {
    const jwt = await provider().token("plants:create");
    for (let id = 1; id <= 20; id++) {
      const response = await post(running().url, `{"id":${id},"name":"Fern"}`, {
        ...bearer(jwt),
        Connection: "close",
      });
      expect(response.status).toBe(200);
    }
    const stored = storedPlants(running().database);
    expect(stored.map(({ created_by }) => created_by)).toEqual(Array(20).fill("oidc:client:greenhouse"));
  });

  test("the token's scopes decide what it may do", async () => {
    const creator = await provider().token("plants:create");
    const operator = await provider().token("operator");
    expect(
      await errorOf(await fetch(`${running().operatorUrl}/api/plants`, { headers: bearer(creator) })),
    ).toEqual([403, 40301]);
    expect(await errorOf(await post(running().url, '{"id":90,"name":"x"}', bearer(operator)))).toEqual([
      403, 40301,
    ]);
    const me = await fetch(`${running().operatorUrl}/api/me`, { headers: bearer(operator) });
    expect(await me.json()).toMatchObject({ name: "oidc:client:greenhouse", scopes: ["operator"] });
  });

  test("a hostile token reads nothing and changes nothing", async () => {
    const before = storedPlants(running().database).length;
    const { privateKey: wrongKey } = await generateKeyPair("RS256");
    const { sign, privateKey } = provider();
    const publicJwk = {
      ...(await exportJWK(privateKey)),
      d: undefined,
      p: undefined,
      q: undefined,
      dp: undefined,
      dq: undefined,
      qi: undefined,
    };
    const publicKey = await crypto.subtle.importKey(
      "jwk",
      publicJwk as never,
      { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
      true,
      ["verify"],
    );
    const publicPem = new TextEncoder().encode(
      await exportSPKI(publicKey as Parameters<typeof exportSPKI>[0]),
    );
    const good = { exp: inSeconds(300) };
    const [, claims = "", signature = ""] = (await sign(good)).split(".");
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const signed = async (header: object, payload: string) => {
      const text = `${part({ alg: "RS256", typ: "at+jwt", kid: keyId, ...header })}.${payload}`;
      const bytes = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", privateKey, Buffer.from(text));
      return `${text}.${Buffer.from(bytes).toString("base64url")}`;
    };
    const nested = `${"[".repeat(4000)}${"]".repeat(4000)}`;
    const claimed = Buffer.from(claims, "base64url").toString();
    // A verifier that trusts the key URL in a token gets this one.
    const asked: string[] = [];
    const { privateKey: ownKey, publicKey: ownPublicKey } = await generateKeyPair("RS256");
    const ownJwks = { keys: [{ ...(await exportJWK(ownPublicKey)), kid: keyId, alg: "RS256" }] };
    using ownServer = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch(request) {
        asked.push(request.url);
        return Response.json(ownJwks);
      },
    });
    const ownUrl = `http://127.0.0.1:${ownServer.port}/jwks`;
    const hostile: Record<string, string> = {
      "a key at its own address": await sign(good, { jku: ownUrl, x5u: ownUrl }, ownKey),
      "a critical header that nobody knows": await signed({ crit: ["unknown"], unknown: 1 }, claims),
      "claims that are not encoded": await signed({ crit: ["b64"], b64: false }, claims),
      "nested claims without a valid time": await signed({}, Buffer.from(nested).toString("base64url")),
      "nested claims and a wrong signature": `${part({ alg: "RS256", typ: "at+jwt", kid: keyId })}.${Buffer.from(
        claimed.replace("{", `{"a":${nested.slice(2000, -2000)},`),
      ).toString("base64url")}.${signature}`,
      huge: await sign({ ...good, a: "x".repeat(9000) }, {}, wrongKey),
      "wrong key": await sign(good, {}, wrongKey),
      "alg none": `${part({ alg: "none", typ: "at+jwt" })}.${claims}.`,
      "alg none with the key's id": `${part({ alg: "none", typ: "at+jwt", kid: keyId })}.${claims}.`,
      "alg none with a signature": `${part({ alg: "none", typ: "at+jwt", kid: keyId })}.${claims}.${signature}`,
      "HMAC with the public key": await sign(good, { alg: "HS256" }, publicPem),
      "HMAC without a key's id": await sign(good, { alg: "HS256", kid: undefined as never }, publicPem),
      "wrong audience": await sign({ ...good, aud: "https://other.example.org" }),
      "no audience": await sign({ ...good, aud: undefined as never }),
      "wrong issuer": await sign({ ...good, iss: "https://other.example.org" }),
      "no issuer": await sign({ ...good, iss: undefined as never }),
      "no expiry": await sign({}),
      expired: await sign({ exp: inSeconds(-1) }),
      "not yet valid": await sign({ ...good, nbf: inSeconds(120) }),
      "unknown key": await sign(good, { kid: "key-2" }),
      "unknown key, wrong signature": await sign(good, { kid: "key-3" }, wrongKey),
      "its own key in the header": await sign(
        good,
        { jwk: await exportJWK((await generateKeyPair("RS256", { extractable: true })).publicKey) },
        wrongKey,
      ),
      "a type that is no access token": await sign(good, { typ: "logout+jwt" }),
      "no type": await sign(good, { typ: undefined as never }),
      "changed claims": `${part({ alg: "RS256", typ: "at+jwt", kid: keyId })}.${part({ ...good, iss: provider().issuer, aud: audience, scope: "operator" })}.${signature}`,
      "nobody's": await sign({ ...good, client_id: undefined as never, sub: undefined as never }),
      "no JSON": "a.b.c",
    };
    const { operatorUrl, url } = running();
    for (const [what, jwt] of Object.entries(hostile)) {
      const headers = bearer(jwt);
      const answers = [
        await post(url, '{"id":666,"name":"Triffid"}', headers),
        await post(operatorUrl, '{"id":666,"name":"Triffid"}', headers),
        await fetch(`${operatorUrl}/api/plants`, { headers }),
        await fetch(`${operatorUrl}/api/export`, { headers }),
        await fetch(`${operatorUrl}/metrics`, { headers }),
        await fetch(`${operatorUrl}/api/tokens`, { method: "POST", headers, body: '{"name":"mine"}' }),
      ];
      for (const answer of answers) expect([what, ...(await errorOf(answer))]).toEqual([what, 401, 40102]);
    }
    expect(asked).toEqual([]);
    expect(storedPlants(running().database)).toHaveLength(before);
    const tokens = await fetch(`${operatorUrl}/api/tokens`, { headers: bearer(operatorToken) });
    expect(((await tokens.json()) as { tokens: unknown[] }).tokens).toEqual([]);
    for (const jwt of Object.values(hostile).filter((one) => one.length > 20))
      expect(running().logged.join("")).not.toContain(jwt);
  });

  test("a token that such a caller creates is valid for 90 days at the most", async () => {
    const headers = { ...bearer(await provider().token("operator")), "Content-Type": "application/json" };
    const create = (body: object) =>
      fetch(`${running().operatorUrl}/api/tokens`, { method: "POST", headers, body: JSON.stringify(body) });
    const days90Ms = 90 * 86_400_000;
    const startMs = Date.now();
    const created = (await (await create({ name: "by-jwt" })).json()) as { token: { expiresAt: string } };
    const expiresAtMs = Date.parse(created.token.expiresAt);
    expect(expiresAtMs).toBeGreaterThanOrEqual(startMs + days90Ms - 1000);
    expect(expiresAtMs).toBeLessThanOrEqual(Date.now() + days90Ms);
    expect((await create({ name: "too-long", expiresIn: "91d" })).status).toBe(400);
  });

  test("the rate limit is per caller", async () => {
    await using limited = await startTestService({ ...provider().flags, "rate-limit": "2/h" });
    await knowsKeys(limited, provider());
    const create = async (client: string) => {
      const jwt = await provider().sign({
        exp: inSeconds(300),
        client_id: client,
        jti: crypto.randomUUID(),
      });
      return (await post(limited.url, '{"id":1,"name":"Fern"}', bearer(jwt))).status;
    };
    for (const client of ["one", "two"])
      expect([client, await create(client), await create(client), await create(client)]).toEqual([
        client,
        200,
        200,
        429,
      ]);
  });

  test("a large body may arrive while its token is being verified", async () => {
    const body = JSON.stringify({ id: 91, name: "x".repeat(1_500_000) });
    for (let round = 0; round < 10; round++) {
      const jwt = await provider().sign({ exp: inSeconds(300), jti: crypto.randomUUID() });
      expect((await post(running().url, body, bearer(jwt))).status).toBe(200);
    }
  });
});
