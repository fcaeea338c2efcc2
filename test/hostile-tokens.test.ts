import { expect, test } from "bun:test";
import { mintSecret } from "../src/access/tokens.ts";
import { onEveryEngine } from "./engines.ts";
import { eventually, operatorToken, post, type TestService } from "./harness.ts";
import { operatorRoutes, publicRoutes } from "./routes.ts";

const guarded = [
  ...publicRoutes.map((route) => ({ ...route, listener: "public" as const })),
  ...operatorRoutes.map((route) => ({ ...route, listener: "operator" as const })),
].filter(({ scope }) => scope !== "none");
// What would do harm if it were accepted; every other route gets an empty object.
const bodies: Record<string, string> = {
  "/plants": '{"id":1,"name":"hostile"}',
  "/api/tokens": '{"name":"hostile","scopes":["operator"]}',
};
const everything = ["plants:create", "operator"];

function operatorApi({ operatorUrl }: TestService) {
  const headers = { Authorization: `Bearer ${operatorToken}` };
  const send = async <Answer>(path: string, body: object = {}) => {
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return (await (await fetch(`${operatorUrl}/api/${path}`, init)).json()) as Answer;
  };
  const get = async (path: string) =>
    (await (await fetch(`${operatorUrl}/api/${path}`, { headers })).json()) as {
      plants: unknown;
      tokens: Record<string, unknown>[];
    };
  return {
    send,
    async mint(name: string, scopes: readonly string[], more: object = {}) {
      const made = await send<{ token: { id: string }; secret: string }>("tokens", { name, scopes, ...more });
      return { id: made.token.id, secret: made.secret };
    },
    /** What must not change: every plant, and of every token what it allows. */
    async state() {
      const { tokens } = await get("tokens");
      const lasting = tokens.map(({ lastUsedAt: _, ...rest }) => rest);
      return JSON.stringify([(await get("plants")).plants, lasting]);
    },
  };
}

onEveryEngine((engine) => {
  test("a hostile client reads and changes nothing with a token that does not allow it", async () => {
    await using running = await engine.start();
    const { send, mint, state } = operatorApi(running);
    expect((await post(running.url, '{"id":1,"name":"Fern"}')).status).toBe(200);
    const victim = await mint("victim", everything);
    const expired = await mint("expired", everything, { expiresIn: "1s" });
    const rotated = await mint("rotated", everything);
    await send(`tokens/${rotated.id}/rotate`, { overlap: "0s" });
    const revoked = await mint("revoked", everything);
    await send(`tokens/${revoked.id}/revoke`);
    // What each allows; all else is refused. The id belongs to another plant, so that no create stores anything.
    const limited = new Map<string, string>();
    for (const scope of ["plants:create", "metrics", "operator:read"])
      limited.set(scope, (await mint(`only ${scope}`, [scope])).secret);
    const attack = (secret: string, allowed?: string) => {
      const answers = guarded
        .filter(({ scope }) => scope !== allowed)
        .map(async ({ listener, method, path }) => {
          const url = (listener === "public" ? running.url : running.operatorUrl) + path;
          const response = await fetch(url.replace("{id}", victim.id), {
            method,
            headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
            ...(method === "GET" ? {} : { body: bodies[path] ?? "{}" }),
          });
          const text = await response.text();
          expect(text).not.toContain("Fern");
          expect(text).not.toContain(victim.id);
          return [listener, method, path, response.status, JSON.parse(text).error];
        });
      return Promise.all(answers);
    };
    const me = `${running.operatorUrl}/api/me`;
    await eventually(async () => {
      const { status } = await fetch(me, { headers: { Authorization: `Bearer ${expired.secret}` } });
      return status === 401;
    }, "the token to expire");
    const before = await state();
    expect(before).toMatch(/Fern.*victim/);
    expect(guarded.length).toBeGreaterThan(12);
    const unknown = [mintSecret(), "x", "-".repeat(5000)];
    for (const secret of [expired.secret, rotated.secret, revoked.secret, ...unknown])
      for (const [listener, method, path, ...seen] of await attack(secret))
        expect([listener, method, path, ...seen]).toEqual([listener, method, path, 401, 40102]);
    for (const [scope, secret] of limited)
      for (const [listener, method, path, ...seen] of await attack(secret, scope))
        expect([listener, method, path, ...seen]).toEqual([listener, method, path, 403, 40301]);
    const conflict = { Authorization: `Bearer ${limited.get("plants:create")}` };
    expect(await (await post(running.url, bodies["/plants"] ?? "", conflict)).text()).not.toContain("Fern");
    expect(await state()).toBe(before);
  });
});
