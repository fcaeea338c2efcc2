// Which scope each route of the operator listener needs, and that nobody gets in without it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Scope, scopes } from "../../src/access/scopes.ts";
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

describe("the operator listener", () => {
  // What each route needs, and which tokens have it.
  const scopeOf = (route: string): Scope => {
    if (route === "POST /plants") return "plants:create";
    if (route === "GET /metrics") return "metrics";
    const needsOperator = /^(?:GET|POST) \/api\/(?:tokens|audit|refusals|settings|backups)/.test(route);
    return needsOperator ? "operator" : "operator:read";
  };
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

  /** The secrets of tokens that are not valid, by what is wrong with them, and of those that have one scope. */
  const secrets = new Map<string, string>();
  const secretOf = (kind: string): string => {
    const secret = secrets.get(kind);
    if (secret === undefined) throw new Error(`no token is ${kind}`);
    return secret;
  };
  /** The id in the path of a route: that of a token, which would be ended if a request were accepted. */
  let id: string;
  beforeAll(async () => {
    await post(service.url, '{"id":1,"name":"Fern"}');
    const all = { scopes: [...scopes] };
    const expired = await mintToken(service, { name: "is expired", ...all, expiresIn: "1s" });
    const replaced = await mintToken(service, { name: "is replaced", ...all });
    await operatorPost(service, `/api/tokens/${replaced.token.id}/rotate`, { overlap: "0s" });
    const revoked = await mintToken(service, { name: "is revoked", ...all });
    await operatorPost(service, `/api/tokens/${revoked.token.id}/revoke`);
    secrets.set("unknown", "wrong-token-0123456789");
    secrets.set("short", "x");
    secrets.set("long", "-".repeat(5000));
    secrets.set("expired", expired.secret);
    secrets.set("replaced", replaced.secret);
    secrets.set("revoked", revoked.secret);
    await eventually(
      async () => (await operatorFetch(service, "/api/me", { token: expired.secret })).status === 401,
      "the expiry",
    );
    for (const scope of scopes) {
      const { secret } = await mintToken(service, { name: `only ${scope}`, scopes: [scope] });
      secrets.set(scope, secret);
    }
    id = (await mintToken(service, { name: "is not changed" })).token.id;
  });

  /** What must not change: every plant, and of every token what it allows. */
  const state = async () => ({
    plants: await operatorGet(service, "/api/plants?limit=1000"),
    tokens: (await listTokens(service)).map((token) => ({ ...token, lastUsedAt: undefined })),
  });

  // An import needs two scopes; import.test.ts has it.
  const routes = operatorRoutes.filter(
    ({ scope, path }) => scope !== "none" && !path.startsWith("/api/imports"),
  );
  describe.each(routes.map(({ method, path }) => [method, path]))("at %s %s", (method, path) => {
    const needed = scopeOf(`${method} ${path}`);
    const target = () => path.replaceAll(/\{\w+\}/g, id);

    /** Sends a request that would do harm, and checks that it did none. Returns how it was refused. */
    async function attack(token: string | null) {
      const before = await state();
      const response = await operatorFetch(service, target(), {
        method,
        token,
        ...(method !== "GET" && { body: harmful[path] ?? "{}" }),
      });
      await response.body?.cancel();
      expect(await state()).toEqual(before);
      return { status: response.status, challenge: response.headers.get("www-authenticate") };
    }

    test.each(scopes.filter((scope) => !holders[needed].includes(scope)))(
      `refuses the scope %s where it needs ${needed}`,
      async (scope) => {
        const challenge = `${realm}, error="insufficient_scope", scope="${needed}"`;
        expect(await attack(secretOf(scope))).toEqual({ status: 403, challenge });
      },
    );

    test.each(["unknown", "short", "long", "expired", "replaced", "revoked"])(
      "refuses a token that is %s",
      async (kind) => {
        const challenge = `${realm}, error="invalid_token"`;
        expect(await attack(secretOf(kind))).toEqual({ status: 401, challenge });
      },
    );

    test("refuses a request without a token", async () => {
      expect(await attack(null)).toEqual({ status: 401, challenge: realm });
    });

    if (method === "GET")
      test.each(holders[needed])("accepts the scope %s", async (scope) => {
        const response = await operatorFetch(service, target(), { token: secretOf(scope) });
        await response.body?.cancel();
        expect(response.headers.get("www-authenticate")).toBeNull();
      });
  });
});
