// Tokens through the operator API: they are created, rotated and revoked, and never outlive the one that created them.
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { JsonFrom } from "../../src/operator/operator-table.ts";
import type { MintedTokenJson, TokenJson } from "../../src/operator/responses.ts";
import {
  lastAudited,
  listTokens,
  mintToken,
  operatorFetch,
  operatorPost,
} from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

// The tests share a service, and each creates the tokens that it needs.
const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());

/** The status of a create with nothing in it: 400 if the token is good, and 401 if it is not. */
const use = async (secret: string, { url } = service) => (await post(url, "{}", bearer(secret))).status;

const readState = async () => ({ tokens: await listTokens(service), audited: await lastAudited(service, 1) });

async function findToken(id: string): Promise<TokenJson | undefined> {
  return (await listTokens(service)).find((token) => token.id === id);
}

test("a token is used when it is created, replaced when it is rotated, and ends when it is revoked", async () => {
  const old = await mintToken(service, { name: "greenhouse", expiresIn: "90d" });
  expect(await use(old.secret)).toBe(400);
  // Written within a minute, and listed at once.
  expect((await findToken(old.token.id))?.lastUsedAt).toBeString();

  const rotate = `/api/tokens/${old.token.id}/rotate`;
  const replacement = await operatorPost<MintedTokenJson>(service, rotate, { overlap: "0s" });
  const { id } = replacement.token;
  expect(await use(old.secret)).toBe(401);
  expect(await use(replacement.secret)).toBe(400);

  const revoked = await operatorPost<JsonFrom<"POST /api/tokens/{id}/revoke">>(
    service,
    `/api/tokens/${id}/revoke`,
  );
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

test("what a command does to a token holds in a running service once the command has ended", async () => {
  using folder = temporaryFolder();
  const database = join(folder.path, "plants.db");
  await using running = await startTestService({ database });
  const run = async (...args: string[]) =>
    (await runInProcess(["token", ...args, "--database", database])).out.trim();
  const created = await run("create", "--name", "script");
  expect(await use(created, running)).toBe(400);
  const rotated = await run("rotate", "script", "--overlap", "0s");
  expect(await use(created, running)).toBe(401);
  expect(await use(rotated, running)).toBe(400);
  await run("revoke", "script");
  expect(await use(rotated, running)).toBe(401);
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

test.each<[what: string, says: string, body: string, path?: string, error?: number]>([
  ["a reserved name", "reserved", '{"name":"oidc:someone"}'],
  ["no name", '"name" is missing', "{}"],
  ["a name that is no string", 'Field "name" must be a string, but is 7.', '{"name":7}'],
  [
    "an unknown scope",
    'Field "scopes" must be a list of at least one of plants:create, plants:read, operator:read, metrics, operator, but is ["all"].',
    '{"name":"a","scopes":["all"]}',
  ],
  ["an expiry of 0 s", "at least 1 second", '{"name":"a","expiresIn":"0s"}'],
  ["an expiry in the far future", "at most 100 years", '{"name":"a","expiresIn":"999999999d"}'],
  ["an unknown field", 'no field "expires" here; expected name, scopes', '{"name":"a","expires":"1d"}'],
  ["a field to revoke", 'no field "when" here; no fields are expected', '{"when":"later"}', "/ID/revoke"],
  ["too many bytes", "over the limit", `"${"x".repeat(70_000)}"`, "", 41301],
  ["a name twice", 'The name "name" appears more than once', '{"name":"a","n\\u0061me":"b"}', "", 40005],
  ["no JSON", "line 1, column 13", '{"name":"a",}', "", 40002],
  ["an id that no token has", "nope", "{}", "/nope/revoke", 40403],
])(
  "neither tokens nor the audit trail change if a request has %s",
  async (what, says, body, path = "", error = 40031) => {
    const { token } = await mintToken(service, { name: `unchanged by ${what}` });
    const before = await readState();
    const target = `/api/tokens${path.replace("ID", token.id)}`;
    const response = await operatorFetch(service, target, { method: "POST", body });
    expect(await response.json()).toEqual({ error, message: expect.stringContaining(says) });
    expect(await readState()).toEqual(before);
  },
);
