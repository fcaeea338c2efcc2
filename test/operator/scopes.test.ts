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

// Its plant and its tokens must not change.
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
  if (needsOperator.test(`${method} ${path}`)) return "operator";
  return path === "/api/overview" || path === "/api/senders" ? "operator:read" : "plants:read";
}
const holders: Record<Scope, readonly Scope[]> = {
  "plants:create": ["plants:create"],
  "plants:read": ["plants:read", "operator:read", "operator"],
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
const tokensOfScope: [Scope, secret: string][] = [];
for (const scope of scopes)
  tokensOfScope.push([scope, (await mintToken(service, { name: `only ${scope}`, scopes: [scope] })).secret]);
// Its id stands in the path of a route: it would be ended if a request were accepted.
const target = (await mintToken(service, { name: "is not changed" })).token;

/** Sends a request that would do harm if it were accepted, and returns the status and the challenge of its response. */
async function send({ method, path }: Route, token: string | null): Promise<string> {
  const response = await operatorFetch(service, path.replaceAll(/\{\w+\}/g, target.id), {
    method,
    token,
    ...(method !== "GET" && { body: harmful[path] ?? "{}" }),
  });
  await response.body?.cancel();
  const challenge = response.headers.get("www-authenticate");
  return challenge === null ? "accepted" : `${response.status} ${challenge}`;
}

/** What must not change: every plant, and of every token what it allows. */
const readState = async () => ({
  plants: await operatorGet(service, "/api/plants?limit=1000"),
  tokens: (await listTokens(service)).map((token) => ({ ...token, lastUsedAt: undefined })),
});

test("each route accepts the scope that it needs, and otherwise neither responds nor does what it is asked", async () => {
  const before = await readState();
  const responses: Record<string, string> = {};
  const expected: Record<string, string> = {};
  for (const route of routes) {
    const { method, path } = route;
    const sendAs = async (kind: string, token: string | null, response: string) => {
      responses[`${method} ${path}, ${kind}`] = await send(route, token);
      expected[`${method} ${path}, ${kind}`] = response;
    };
    await sendAs("without a token", null, `401 ${realm}`);
    for (const [kind, secret] of invalidTokens)
      await sendAs(`with a token that is ${kind}`, secret, `401 ${realm}, error="invalid_token"`);
    const needed = scopeOf(route);
    const lacks = `403 ${realm}, error="insufficient_scope", scope="${needed}"`;
    for (const [scope, secret] of tokensOfScope) {
      const isHolder = holders[needed].includes(scope);
      // Another method would do what it is asked.
      if (!isHolder || method === "GET") await sendAs(`with ${scope}`, secret, isHolder ? "accepted" : lacks);
    }
  }
  expect(responses).toEqual(expected);
  expect(await readState()).toEqual(before);
});
