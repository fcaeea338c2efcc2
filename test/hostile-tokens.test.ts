import { describe, expect, test } from "bun:test";
import { mintSecret } from "../src/access/tokens.ts";
import { onEveryEngine } from "./engines.ts";
import { eventually, operatorToken, post, type TestService } from "./harness.ts";
import { operatorRoutes, publicRoutes } from "./routes.ts";

const asOperator = { Authorization: `Bearer ${operatorToken}` };
const guarded = [
  ...publicRoutes.map((route) => ({ ...route, listener: "public" as const })),
  ...operatorRoutes.map((route) => ({ ...route, listener: "operator" as const })),
].filter(({ scope }) => scope !== "none");
// What would do harm if it were accepted; every other route gets an empty object.
const bodies: Record<string, string> = {
  "/plants": '{"id":1,"name":"hostile"}',
  "/api/tokens": '{"name":"hostile","scopes":["operator"]}',
};

async function send(running: TestService, path: string, body: unknown): Promise<Record<string, string>> {
  const response = await fetch(running.operatorUrl + path, {
    method: "POST",
    headers: asOperator,
    body: JSON.stringify(body),
  });
  return (await response.json()) as Record<string, string>;
}

async function mint(running: TestService, name: string, scopes: readonly string[], more: object = {}) {
  const { token, secret } = (await send(running, "/api/tokens", { name, scopes, ...more })) as unknown as {
    token: { id: string };
    secret: string;
  };
  return { id: token.id, secret };
}

/** What must not change: every plant, and of every token what it allows. */
async function stateOf(running: TestService): Promise<string> {
  const get = async (path: string) =>
    (await (await fetch(running.operatorUrl + path, { headers: asOperator })).json()) as {
      plants?: unknown;
      tokens?: Record<string, unknown>[];
    };
  const { tokens = [] } = await get("/api/tokens");
  const { plants } = await get("/api/plants");
  const lasting = tokens.map(({ id, name, scopes, expiresAt, revokedAt, state }) => [
    [id, name, scopes],
    [expiresAt, revokedAt, state],
  ]);
  return JSON.stringify([plants, lasting]);
}

onEveryEngine((engine) => {
  describe("a hostile client", () => {
    test("reads and changes nothing with a token that does not allow it", async () => {
      await using running = await engine.start();
      expect((await post(running.url, '{"id":1,"name":"Fern"}')).status).toBe(200);
      const everything = ["plants:create", "operator"];
      const victim = await mint(running, "victim", everything);
      // What each of them allows; all else is refused. The id belongs to another plant, so that no create stores anything.
      const limited = [
        { secret: (await mint(running, "create-only", ["plants:create"])).secret, allows: ["plants:create"] },
        { secret: (await mint(running, "metrics-only", ["metrics"])).secret, allows: ["metrics"] },
        { secret: (await mint(running, "read-only", ["operator:read"])).secret, allows: ["operator:read"] },
      ];
      const expired = await mint(running, "expired", everything, { expiresIn: "1s" });
      const rotated = await mint(running, "rotated", everything);
      await send(running, `/api/tokens/${rotated.id}/rotate`, { overlap: "0s" });
      const revoked = await mint(running, "revoked", everything);
      await send(running, `/api/tokens/${revoked.id}/revoke`, {});
      const me = (secret: string) =>
        fetch(`${running.operatorUrl}/api/me`, { headers: { Authorization: `Bearer ${secret}` } });
      await eventually(async () => (await me(expired.secret)).status === 401);

      const before = await stateOf(running);
      expect(before).toMatch(/Fern.*victim|victim.*Fern/);
      const attack = async (secret: string, isTried: (route: { scope: string }) => boolean = () => true) => {
        const responses = guarded.filter(isTried).map(async ({ listener, method, path, scope }) => {
          const url = (listener === "public" ? running.url : running.operatorUrl) + path;
          const response = await fetch(url.replace("{id}", victim.id), {
            method,
            headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
            ...(method === "GET" ? {} : { body: bodies[path] ?? "{}" }),
          });
          const text = await response.text();
          expect(text).not.toContain("Fern");
          expect(text).not.toContain(victim.id);
          return [`${listener} ${method} ${path}`, scope, response.status, JSON.parse(text).error];
        });
        return Promise.all(responses);
      };
      expect(guarded.length).toBeGreaterThan(12);
      for (const secret of [
        expired.secret,
        rotated.secret,
        revoked.secret,
        mintSecret(),
        "x",
        "-".repeat(5000),
      ])
        for (const [route, , status, error] of await attack(secret))
          expect([route, status, error]).toEqual([route, 401, 40102]);
      const conflict = { Authorization: `Bearer ${limited[0]?.secret}` };
      expect(await (await post(running.url, bodies["/plants"] ?? "", conflict)).text()).not.toContain("Fern");
      for (const { secret, allows } of limited)
        for (const [route, , status, error] of await attack(secret, ({ scope }) => !allows.includes(scope)))
          expect([route, status, error]).toEqual([route, 403, 40301]);
      expect(await stateOf(running)).toBe(before);
    }, 30_000);
  });
});
