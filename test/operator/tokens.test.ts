// Tokens through the operator API: they are created, rotated and revoked, and never outlive the one that created them.
import { afterAll, describe, expect, test } from "bun:test";
import type { MintedTokenJson, RevokedTokenJson } from "../../src/operator/responses.ts";
import {
  lastAudited,
  listTokens,
  mintToken,
  operatorFetch,
  operatorPost,
} from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { startTestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

// The tests share a service, and each creates the tokens that it needs.
const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());

describe("tokens", () => {
  /** The status of a create with nothing in it: 400 if the token is good, and 401 if it is not. */
  const use = async (secret: string) => (await post(service.url, "{}", bearer(secret))).status;

  async function rotate(id: string): Promise<MintedTokenJson> {
    return operatorPost<MintedTokenJson>(service, `/api/tokens/${id}/rotate`, { overlap: "0s" });
  }

  test("are used as soon as they are created", async () => {
    const { secret } = await mintToken(service, { name: "new" });
    expect(await use(secret)).toBe(400);
  });

  test("are replaced at once by one that is rotated without an overlap", async () => {
    const old = await mintToken(service, { name: "rotated" });
    const replacement = await rotate(old.token.id);
    expect(await use(old.secret)).toBe(401);
    expect(await use(replacement.secret)).toBe(400);
  });

  test("end at once when they are revoked", async () => {
    const { token, secret } = await mintToken(service, { name: "revoked" });
    const revoked = await operatorPost<RevokedTokenJson>(service, `/api/tokens/${token.id}/revoke`);
    expect(revoked.token.state).toBe("revoked");
    expect(await use(secret)).toBe(401);
  });

  describe("that were created, rotated and revoked", () => {
    /** A token by this name, and the one that replaced it, which is revoked. */
    async function endedTokens(name: string) {
      const old = await mintToken(service, { name, expiresIn: "90d" });
      const replacement = await rotate(old.token.id);
      await operatorPost(service, `/api/tokens/${replacement.token.id}/revoke`);
      return { old, replacement };
    }

    test("are listed with their state", async () => {
      await endedTokens("listed");
      const listed = (await listTokens(service)).filter(({ name }) => name === "listed");
      expect(listed.map(({ state }) => state)).toEqual(["expired", "revoked"]);
    });

    test("are in the audit trail, with by whom and from where", async () => {
      const { id } = (await endedTokens("audited")).replacement.token;
      const by = { actor: "preset-operator", subject: "audited", address: "127.0.0.1" };
      const created = /^\w{8}: plants:create; expires .*Z$/;
      expect(await lastAudited(service, 3)).toMatchObject([
        { ...by, action: "token.created", detail: expect.stringMatching(created) },
        { ...by, action: "token.rotated", detail: expect.stringContaining(`${id}: plants:create`) },
        { ...by, action: "token.revoked", detail: id, at: expect.stringMatching(/^\d{4}-.*Z$/) },
      ]);
    });

    test("are shown without their secret or its digest", async () => {
      const { old, replacement } = await endedTokens("secret");
      const shown = JSON.stringify([await listTokens(service), await lastAudited(service, 3)]);
      expect(shown).toContain(replacement.token.id);
      expect(shown).not.toContain("digest");
      expect(shown).not.toContain(old.secret);
      expect(shown).not.toContain(replacement.secret);
    });
  });

  test("that expire before the overlap is over are not prolonged by rotating", async () => {
    const { id, expiresAt } = (await mintToken(service, { name: "short", expiresIn: "10m" })).token;
    const rotated = await operatorPost<MintedTokenJson>(service, `/api/tokens/${id}/rotate`, {
      overlap: "1d",
    });
    expect(rotated.oldUntil).toBe(expiresAt);
    expect((await listTokens(service)).find((token) => token.id === id)).toMatchObject({ expiresAt });
  });

  describe("with an expiry", () => {
    const createBrief = (name: string) => mintToken(service, { name, scopes: ["operator"], expiresIn: "1h" });
    const rotateAs = (token: string, id: string) =>
      operatorPost<MintedTokenJson>(service, `/api/tokens/${id}/rotate`, {}, { token });

    test("create none that outlives them", async () => {
      const { secret, token } = await createBrief("outlived");
      const latest = `must expire by ${token.expiresAt?.replace(/\.\d+/, "")}`;
      const lasting = { name: "a", expiresIn: "2h" };
      expect(await operatorPost(service, "/api/tokens", lasting, { token: secret })).toMatchObject({
        error: 40031,
        message: expect.stringContaining(latest),
      });
    });

    test("create one that expires earlier", async () => {
      const { secret } = await createBrief("brief");
      const shorter = await mintToken(service, { name: "briefer", expiresIn: "10m" }, secret);
      expect(shorter.token).toMatchObject({ createdBy: "brief" });
    });

    test("rotate one that never expires into one that expires with them", async () => {
      const { secret, token } = await createBrief("rotates another");
      const lasting = await mintToken(service, { name: "lasting" });
      expect(lasting.token.expiresAt).toBeUndefined();
      const rotated = await rotateAs(secret, lasting.token.id);
      expect(rotated.token).toMatchObject({ expiresAt: token.expiresAt, createdBy: "rotates another" });
    });

    test("rotate themselves into one that expires when they do", async () => {
      const { secret, token } = await createBrief("rotates itself");
      const rotated = await rotateAs(secret, token.id);
      expect(rotated.token).toMatchObject({ expiresAt: token.expiresAt, createdBy: "rotates itself" });
    });
  });

  test.each([
    { what: "a reserved name", body: '{"name":"oidc:someone"}', error: 40031, says: "reserved" },
    { what: "no name", body: "{}", error: 40031, says: '"name" is missing' },
    {
      what: "a name that is no string",
      body: '{"name":7}',
      error: 40031,
      says: 'Field "name" must be a string, but is 7.',
    },
    {
      what: "an unknown scope",
      body: '{"name":"a","scopes":["all"]}',
      error: 40031,
      says: 'Field "scopes" must be a list of at least one of plants:create, operator:read, metrics, operator, but is ["all"].',
    },
    { what: "no scopes", body: '{"name":"a","scopes":[]}', error: 40031, says: "operator, but is []." },
    {
      what: "an expiry that is no duration",
      body: '{"name":"a","expiresIn":"soon"}',
      error: 40031,
      says: 'Field "expiresIn" must be a number with a unit (ms, s, m, h or d), such as 10s, but is "soon".',
    },
    {
      what: "an expiry of 0 s",
      body: '{"name":"a","expiresIn":"0s"}',
      error: 40031,
      says: "at least 1 second",
    },
    {
      what: "an expiry in the far future",
      body: '{"name":"a","expiresIn":"999999999d"}',
      error: 40031,
      says: "at most 100 years",
    },
    { what: "too many bytes", body: `"${"x".repeat(70_000)}"`, error: 41301, says: "over the limit" },
    {
      what: "an unknown field",
      body: '{"name":"a","expires":"1d"}',
      error: 40031,
      says: 'no field "expires" here; expected name, scopes',
    },
    {
      what: "a field that appears twice",
      body: '{"name":"a","n\\u0061me":"b"}',
      error: 40005,
      says: 'The name "name" appears more than once',
    },
    { what: "no JSON", body: '{"name":"a",}', error: 40002, says: "line 1, column 13" },
    {
      what: "an unknown field of a rotation",
      path: "tokens/ID/rotate",
      body: '{"overlapp":"0s"}',
      error: 40031,
      says: 'no field "overlapp" here; expected overlap',
    },
    {
      what: "a field of a revocation",
      path: "tokens/ID/revoke",
      body: '{"when":"later"}',
      error: 40031,
      says: 'no field "when" here; no fields are expected',
    },
    {
      what: "an id that no token has",
      path: "tokens/nope/revoke",
      body: "{}",
      error: 40403,
      says: "nope",
    },
    {
      what: "an id that the message would cut within a character",
      path: `tokens/${"a".repeat(48)}%F0%9F%8C%B1a/rotate`,
      body: "{}",
      error: 40403,
      says: `No token has the id ${"a".repeat(48)}….`,
    },
  ])("do not change if a request has $what", async ({ what, path = "tokens", body, error, says }) => {
    const { token } = await mintToken(service, { name: `unchanged by ${what}` });
    const before = await listTokens(service);
    const response = await operatorFetch(service, `/api/${path.replace("ID", token.id)}`, {
      method: "POST",
      body,
    });
    expect(await response.json()).toEqual({ error, message: expect.stringContaining(says) });
    expect(await listTokens(service)).toEqual(before);
  });
});
