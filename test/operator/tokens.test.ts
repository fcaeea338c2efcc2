// Tokens through the operator API: they are created, rotated and revoked, and never outlive the one that created them.
import { afterAll, describe, expect, test } from "bun:test";
import type { MintedTokenJson, RevokedTokenJson, TokenJson } from "../../src/operator/responses.ts";
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

/** The status of a create with nothing in it: 400 if the token is good, and 401 if it is not. */
const use = async (secret: string) => (await post(service.url, "{}", bearer(secret))).status;

async function findToken(id: string): Promise<TokenJson | undefined> {
  return (await listTokens(service)).find((token) => token.id === id);
}

test("a token is used when it is created, replaced when it is rotated, and ends when it is revoked", async () => {
  const old = await mintToken(service, { name: "greenhouse", expiresIn: "90d" });
  expect(await use(old.secret)).toBe(400);

  const rotate = `/api/tokens/${old.token.id}/rotate`;
  const replacement = await operatorPost<MintedTokenJson>(service, rotate, { overlap: "0s" });
  const { id } = replacement.token;
  expect(await use(old.secret)).toBe(401);
  expect(await use(replacement.secret)).toBe(400);

  const revoked = await operatorPost<RevokedTokenJson>(service, `/api/tokens/${id}/revoke`);
  expect(revoked.token.state).toBe("revoked");
  expect(await use(replacement.secret)).toBe(401);

  const audited = await lastAudited(service, 3);
  const by = { actor: "preset-operator", subject: "greenhouse", address: "127.0.0.1" };
  const created = /^\w{8}: plants:create; expires .*Z$/;
  expect(audited).toMatchObject([
    { ...by, action: "token.created", detail: expect.stringMatching(created) },
    { ...by, action: "token.rotated", detail: expect.stringContaining(`${id}: plants:create`) },
    { ...by, action: "token.revoked", detail: id, at: expect.stringMatching(/^\d{4}-.*Z$/) },
  ]);
  const listed = (await listTokens(service)).filter(({ name }) => name === "greenhouse");
  expect(listed.map(({ state }) => state)).toEqual(["expired", "revoked"]);

  // Neither has a secret or its digest.
  const shown = JSON.stringify([listed, audited]);
  expect(shown).toContain(id);
  expect(shown).not.toContain("digest");
  expect(shown).not.toContain(old.secret);
  expect(shown).not.toContain(replacement.secret);
});

test("a token that expires before the overlap is over is not prolonged by rotating", async () => {
  const { id, expiresAt } = (await mintToken(service, { name: "short", expiresIn: "10m" })).token;
  const rotate = `/api/tokens/${id}/rotate`;
  const rotated = await operatorPost<MintedTokenJson>(service, rotate, { overlap: "1d" });
  expect(rotated.oldUntil).toBe(expiresAt);
  expect(await findToken(id)).toMatchObject({ expiresAt });
});

describe("a token with an expiry", () => {
  const createBrief = (name: string) => mintToken(service, { name, scopes: ["operator"], expiresIn: "1h" });

  test("creates only tokens that expire by then", async () => {
    const { secret, token } = await createBrief("brief");
    const shorter = await mintToken(service, { name: "briefer", expiresIn: "10m" }, secret);
    expect(shorter.token).toMatchObject({ createdBy: "brief" });
    const lasting = { name: "a", expiresIn: "2h" };
    const latest = `must expire by ${token.expiresAt?.replace(/\.\d+/, "")}`;
    expect(await operatorPost(service, "/api/tokens", lasting, { token: secret })).toMatchObject({
      error: 40031,
      message: expect.stringContaining(latest),
    });
  });

  test("rotates one that never expires, and itself, into one that expires with it", async () => {
    const { secret, token } = await createBrief("rotates");
    const lasting = await mintToken(service, { name: "lasting" });
    expect(lasting.token.expiresAt).toBeUndefined();
    for (const { id } of [lasting.token, token]) {
      const rotate = `/api/tokens/${id}/rotate`;
      const rotated = await operatorPost<MintedTokenJson>(service, rotate, {}, { token: secret });
      expect(rotated.token).toMatchObject({ expiresAt: token.expiresAt, createdBy: "rotates" });
    }
  });
});

test.each<[what: string, error: number, says: string, body: string, path?: string]>([
  ["a reserved name", 40031, "reserved", '{"name":"oidc:someone"}'],
  ["no name", 40031, '"name" is missing', "{}"],
  ["a name that is no string", 40031, 'Field "name" must be a string, but is 7.', '{"name":7}'],
  [
    "an unknown scope",
    40031,
    'Field "scopes" must be a list of at least one of plants:create, operator:read, metrics, operator, but is ["all"].',
    '{"name":"a","scopes":["all"]}',
  ],
  ["no scopes", 40031, "operator, but is [].", '{"name":"a","scopes":[]}'],
  [
    "an expiry that is no duration",
    40031,
    'Field "expiresIn" must be a number with a unit (ms, s, m, h or d), such as 10s, but is "soon".',
    '{"name":"a","expiresIn":"soon"}',
  ],
  ["an expiry of 0 s", 40031, "at least 1 second", '{"name":"a","expiresIn":"0s"}'],
  ["an expiry in the far future", 40031, "at most 100 years", '{"name":"a","expiresIn":"999999999d"}'],
  ["too many bytes", 41301, "over the limit", `"${"x".repeat(70_000)}"`],
  [
    "an unknown field",
    40031,
    'no field "expires" here; expected name, scopes',
    '{"name":"a","expires":"1d"}',
  ],
  [
    "a field that appears twice",
    40005,
    'The name "name" appears more than once',
    '{"name":"a","n\\u0061me":"b"}',
  ],
  ["no JSON", 40002, "line 1, column 13", '{"name":"a",}'],
  [
    "no such field of a rotation",
    40031,
    'no field "overlapp" here; expected overlap',
    '{"overlapp":"0s"}',
    "/ID/rotate",
  ],
  [
    "a field of a revocation",
    40031,
    'no field "when" here; no fields are expected',
    '{"when":"later"}',
    "/ID/revoke",
  ],
  ["an id that no token has", 40403, "nope", "{}", "/nope/revoke"],
  [
    "an id that the message would cut within a character",
    40403,
    `No token has the id ${"a".repeat(48)}….`,
    "{}",
    `/${"a".repeat(48)}%F0%9F%8C%B1a/rotate`,
  ],
])("tokens do not change if a request has %s", async (what, error, says, body, path = "") => {
  const { token } = await mintToken(service, { name: `unchanged by ${what}` });
  const before = await listTokens(service);
  const target = `/api/tokens${path.replace("ID", token.id)}`;
  const response = await operatorFetch(service, target, { method: "POST", body });
  expect(await response.json()).toEqual({ error, message: expect.stringContaining(says) });
  expect(await listTokens(service)).toEqual(before);
});
