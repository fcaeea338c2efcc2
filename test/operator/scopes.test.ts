// Which scope each route of the operator listener needs, and that nobody gets in without it.
import { afterAll, expect, test } from "bun:test";
import { type Scope, scopes } from "../../src/access/scopes.ts";
import type { Route } from "../../src/http/route.ts";
import { eventually } from "../support/eventually.ts";
import {
  listTokens,
  mintToken,
  operatorFetch,
  operatorGet,
  operatorPost,
} from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { operatorRoutes } from "../support/routes.ts";
import { startTestService } from "../support/test-service.ts";

// The tests share a service, its plant and its tokens, which none of them may change.
const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());

// An import needs two scopes; import.test.ts has it.
const routes = operatorRoutes.filter(
  ({ scope, path }) => scope !== "none" && !path.startsWith("/api/imports"),
);

// What each route needs, and which tokens have it.
function scopeOf({ method, path }: Route): Scope {
  if (path === "/plants") return "plants:create";
  if (path === "/metrics") return "metrics";
  const needsOperator = /^(?:GET|POST) \/api\/(?:tokens|audit|refusals|settings|backups)/;
  return needsOperator.test(`${method} ${path}`) ? "operator" : "operator:read";
}
const holders: Record<Scope, readonly Scope[]> = {
  "plants:create": ["plants:create"],
  "operator:read": ["operator:read", "operator"],
  metrics: ["metrics", "operator"],
  operator: ["operator"],
};
// What would do harm if it were accepted; every other route gets an empty object.
const harmful: Record<string, string> = {
  "/plants": '{"id":666,"name":"hostile"}',
  "/api/tokens": '{"name":"hostile","scopes":["operator"]}',
};
const realm = 'Bearer realm="plant-store"';

await post(service.url, '{"id":1,"name":"Fern"}');
const all = { scopes: [...scopes] };
const expired = await mintToken(service, { name: "is expired", ...all, expiresIn: "1s" });
const replaced = await mintToken(service, { name: "is replaced", ...all });
await operatorPost(service, `/api/tokens/${replaced.token.id}/rotate`, { overlap: "0s" });
const revoked = await mintToken(service, { name: "is revoked", ...all });
await operatorPost(service, `/api/tokens/${revoked.token.id}/revoke`);
await eventually(
  async () => (await operatorFetch(service, "/api/me", { token: expired.secret })).status === 401,
  "the expiry",
);
const invalidTokens = [
  ["unknown", "wrong-token-0123456789"],
  ["short", "x"],
  ["long", "-".repeat(5000)],
  ["expired", expired.secret],
  ["replaced", replaced.secret],
  ["revoked", revoked.secret],
] as const;
/** The secrets of tokens that have one scope. */
const secretOf = new Map<Scope, string>();
for (const scope of scopes)
  secretOf.set(scope, (await mintToken(service, { name: `only ${scope}`, scopes: [scope] })).secret);
// Its id stands in the path of a route: it would be ended if a request were accepted.
const target = (await mintToken(service, { name: "is not changed" })).token;

/** Sends a request that would do harm if it were accepted, and returns the status and the challenge of its response. */
async function send({ method, path }: Route, token: string | null = null): Promise<string> {
  const response = await operatorFetch(service, path.replaceAll(/\{\w+\}/g, target.id), {
    method,
    token,
    ...(method !== "GET" && { body: harmful[path] ?? "{}" }),
  });
  await response.body?.cancel();
  return `${response.status} ${response.headers.get("www-authenticate")}`;
}

/** What must not change: every plant, and of every token what it allows. */
const readState = async () => ({
  plants: await operatorGet(service, "/api/plants?limit=1000"),
  tokens: (await listTokens(service)).map((token) => ({ ...token, lastUsedAt: undefined })),
});

test("no route responds to a token that is not valid, or does what it asks for", async () => {
  const before = await readState();
  const responses: Record<string, string> = {};
  const expected: Record<string, string> = {};
  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    responses[`${name} without a token`] = await send(route);
    expected[`${name} without a token`] = `401 ${realm}`;
    for (const [kind, secret] of invalidTokens) {
      responses[`${name} with a token that is ${kind}`] = await send(route, secret);
      expected[`${name} with a token that is ${kind}`] = `401 ${realm}, error="invalid_token"`;
    }
  }
  expect(responses).toEqual(expected);
  expect(await readState()).toEqual(before);
});

test("each route refuses the scopes that it does not need, and does not do what they ask for", async () => {
  const before = await readState();
  const responses: Record<string, string> = {};
  const expected: Record<string, string> = {};
  for (const route of routes) {
    const needed = scopeOf(route);
    for (const scope of scopes.filter((scope) => !holders[needed].includes(scope))) {
      const name = `${route.method} ${route.path} with ${scope}`;
      responses[name] = await send(route, secretOf.get(scope));
      expected[name] = `403 ${realm}, error="insufficient_scope", scope="${needed}"`;
    }
  }
  expect(responses).toEqual(expected);
  expect(await readState()).toEqual(before);
});

test("each route that reads accepts the scopes that it needs", async () => {
  const denied: string[] = [];
  for (const route of routes.filter(({ method }) => method === "GET"))
    for (const scope of holders[scopeOf(route)]) {
      const response = await send(route, secretOf.get(scope));
      if (!response.endsWith(" null"))
        denied.push(`${route.method} ${route.path} with ${scope}: ${response}`);
    }
  expect(denied).toEqual([]);
});
