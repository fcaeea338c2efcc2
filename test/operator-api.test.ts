import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { type Scope, scopes } from "../src/access/scopes.ts";
import { onEveryEngine } from "./engines.ts";
import { accessToken, eventually, operatorToken, post, sendRaw, startTestService } from "./harness.ts";
import { operatorRoutes } from "./routes.ts";

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown> & {
    plants: { id: string; name: string }[];
    error: number;
    message: string;
  };
  readonly headers: Headers;
}

interface Overview {
  readonly perMinute: { readonly refusals: readonly number[] };
  readonly perHour?: { readonly creates: readonly number[]; readonly refusals: readonly number[] };
  readonly refusals: readonly { readonly error: number; readonly reason: string; readonly count: number }[];
}

const unsafeId = "9007199254740993";

onEveryEngine((engine) => {
  let url = "";
  let operatorUrl = "";
  let close = async () => {};

  beforeAll(async () => {
    const running = await engine.start();
    ({ url, operatorUrl } = running);
    close = async () => running[Symbol.asyncDispose]();
    await post(url, `{"id":${unsafeId},"name":"Árbol de Navidad","tag":"tree"}`);
    await post(url, '{"id":-9223372036854775808,"name":"100% Fern_1","tag":""}');
    await post(url, '{"id":3,"name":"Moss, \\"the\\" soft\\nkind"}');
    for (let id = 10; id < 40; id++)
      await post(url, JSON.stringify({ id, name: `Oak ${id}`, tag: id % 2 ? "tree" : "bush" }));
  });
  afterAll(() => close());

  async function call(path: string, init: RequestInit = {}, token = operatorToken): Promise<Answer> {
    const headers = { Authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) };
    const response = await fetch(operatorUrl + path, { ...init, headers });
    return {
      status: response.status,
      body: (await response.json()) as Answer["body"],
      headers: response.headers,
    };
  }

  const send = (path: string, body: unknown) => call(path, { method: "POST", body: JSON.stringify(body) });
  const idsOf = ({ body }: Answer) => body.plants.map(({ id }) => id);

  describe("counts", () => {
    test("the plants that match, as far as they were counted", async () => {
      const counted = async (query: string) => (await call(`/api/plants/count${query}`)).body as object;
      expect(await counted("")).toEqual({ plants: "33" });
      expect(await counted("?tag=tree")).toEqual({ plants: "16" });
      expect(await counted("?name=OAK%201")).toEqual({ plants: "10" });
      expect(await counted("?tag=none&name=x")).toEqual({ plants: "0" });
      expect((await call("/api/plants/count?name=x&cursor=z")).body.error).toBe(40031);
    });

    test("the plants of each hour of a week, and what was refused, by reason", async () => {
      const before = (await call("/api/overview")).body as unknown as Overview;
      await post(url, '{"id":3,"name":"Other"}');
      await post(url, '{"id":"x","name":"Other"}', { Authorization: "Bearer wrong-token-0123456789" });
      let overview = before;
      await eventually(async () => {
        overview = (await call("/api/overview")).body as unknown as Overview;
        return overview.perHour !== undefined;
      });
      const sum = (counts: readonly number[] = []) => counts.reduce((total, count) => total + count, 0);
      expect([overview.perHour?.creates.length, sum(overview.perHour?.creates)]).toEqual([168, 33]);
      const countOf = (error: number) => overview.refusals.find((reason) => reason.error === error);
      expect(countOf(40020)).toEqual({ error: 40020, reason: expect.stringContaining("id"), count: 1 });
      expect(countOf(40102)?.count).toBe(1);
      expect([sum(overview.perMinute.refusals), sum(overview.perHour?.refusals)]).toEqual([2, 2]);
    });
  });

  test("the settings are listed without a secret", async () => {
    const { body } = await call("/api/settings");
    const settings = body["settings"] as { name: string; value: string; source: string }[];
    expect(settings).toContainEqual({ name: "max-body-bytes", value: "65536", source: "default" });
    expect(settings).toContainEqual({
      name: "PLANT_STORE_OPERATOR_TOKEN",
      value: "(set, not shown)",
      source: "environment",
    });
    expect(JSON.stringify(body)).not.toMatch(/test-(?:access|operator)-token/);
  });

  describe("plants are listed", () => {
    test("newest first, in pages that neither repeat nor skip, even if plants arrive in between", async () => {
      const first = await call("/api/plants?limit=10");
      await post(url, '{"id":1000,"name":"in between"}');
      const second = await call(`/api/plants?limit=10&cursor=${first.body["next"]}`);
      const rest = await call(`/api/plants?limit=1000&cursor=${second.body["next"]}`);
      const ids = [...idsOf(first), ...idsOf(second), ...idsOf(rest)];
      expect(ids.slice(0, 3)).toEqual(["39", "38", "37"]);
      expect(ids.slice(-3)).toEqual(["3", "-9223372036854775808", unsafeId]);
      expect(ids).toHaveLength(33);
      expect(rest.body).not.toHaveProperty("next");
    });

    test("oldest first", async () => {
      const { body } = await call("/api/plants?limit=2&order=oldest");
      expect(body.plants).toEqual([
        expect.objectContaining({
          id: unsafeId,
          name: "Árbol de Navidad",
          tag: "tree",
          createdBy: "preset-access",
        }),
        expect.objectContaining({ id: "-9223372036854775808", tag: "" }),
      ]);
      expect(body.plants[0]).toHaveProperty("createdAt", expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/));
    });

    const filtered: [string, string[]][] = [
      ["tag=bush&limit=2", ["38", "36"]],
      ["tag=", ["-9223372036854775808"]],
      ["name=OAK%2011", ["11"]],
      ["name=%C3%A1RBOL", [unsafeId]],
      ["name=%C3%81rbol%20D", [unsafeId]],
      ["name=0%25%20f", ["-9223372036854775808"]],
      ["name=fern_1", ["-9223372036854775808"]],
      ["name=fernx1", []],
      ["name=k%201&tag=bush", ["18", "16", "14", "12", "10"]],
      [`id=${unsafeId}`, [unsafeId]],
      [`id=${unsafeId}&tag=bush`, []],
      ["id=9007199254740992", []],
      ["token=nobody", []],
      ["token=preset-access&tag=tree&limit=1", ["39"]],
      ["until=2020-01-01", []],
      ["since=2020-01-01T00:00:00Z&id=3", ["3"]],
      ["since=2100-01-01T00:00:00%2B02:00", []],
    ];
    for (const [query, ids] of filtered) {
      test(`with ${query}`, async () => {
        const answer = await call(`/api/plants?${query}`);
        expect(answer.status).toBe(200);
        expect(idsOf(answer)).toEqual(ids);
      });
    }

    const wrong = [
      ["limit=0", 'Parameter "limit" must be a whole number from 1 to 1000, but is "0".'],
      ["limit=many", "limit"],
      ["tag=%00", "U+0000"],
      ["name=a%00", "U+0000"],
      [`name=${"n".repeat(101)}`, "over 100 characters"],
      ["id=1.5", "id"],
      ["id=9223372036854775808", "id"],
      ["since=yesterday", "since"],
      ["order=random", "newest or oldest"],
      ["cursor=x", "cursor"],
      ["colour=green", 'There is no parameter "colour"'],
      ["tag=a&tag=b", "more than once"],
    ] as const;
    for (const [query, message] of wrong) {
      test(`but not with ${query}`, async () => {
        const { status, body } = await call(`/api/plants?${query}`);
        expect([status, body.error, body.message]).toEqual([400, 40031, expect.stringContaining(message)]);
      });
    }

    test("or shown one by one", async () => {
      expect((await call(`/api/plants/${unsafeId}`)).body).toMatchObject({ id: unsafeId, tag: "tree" });
      expect(await call("/api/plants/9007199254740992")).toMatchObject({
        status: 404,
        body: { error: 40402 },
      });
      expect(await call("/api/plants/x")).toMatchObject({ status: 400, body: { error: 40031 } });
    });
  });

  test("the overview counts", async () => {
    const { body } = await call("/api/overview");
    expect(Number(body["total"])).toBeGreaterThanOrEqual(33);
    const { creates } = body["perMinute"] as { creates: number[] };
    expect(creates).toHaveLength(180);
    expect(creates.reduce((sum, count) => sum + count, 0)).toBe(Number(body["total"]));
    expect(body["ratePerSecond"]).toBeGreaterThan(0);
    expect(body["store"]).toMatchObject({ engine: expect.stringMatching(/sqlite|postgres/), ready: true });
    expect((body["store"] as { lastBackupAt?: null }).lastBackupAt).toBe(
      engine.name === "sqlite" ? null : undefined,
    );
  });

  describe("plants are exported", () => {
    const fetched = async (query: string) => {
      const response = await fetch(`${operatorUrl}/api/export?${query}`, {
        headers: { Authorization: `Bearer ${operatorToken}` },
      });
      return { text: await response.text(), response };
    };

    test("as NDJSON that the service takes back", async () => {
      const { text, response } = await fetched("until=2100-01-01");
      expect(response.headers.get("content-disposition")).toMatch(/attachment; filename="plants-.*\.ndjson"/);
      const rows = text.trimEnd().split("\n");
      expect(rows[0]).toStartWith(`{"id":${unsafeId},"name":"Árbol de Navidad","tag":"tree","createdAt":"`);
      await using other = await startTestService();
      for (const row of rows) expect((await post(other.url, row)).status).toBe(200);
      for (const row of rows) expect((await post(url, row)).headers.get("idempotent-replayed")).toBe("true");
    });

    test("as CSV, with an empty tag distinct from none", async () => {
      const { text } = await fetched("format=csv&until=2100-01-01");
      expect(text).toStartWith("id,name,tag,created_at,created_by\r\n");
      expect(text).toContain('\r\n-9223372036854775808,100% Fern_1,"",20');
      expect(text).toContain('\r\n3,"Moss, ""the"" soft\nkind",,20');
    });

    test("as CSV for spreadsheets", async () => {
      const { text, response } = await fetched("format=csv-safe&until=2100-01-01");
      expect(response.headers.get("content-disposition")).toMatch(/filename="plants-[\d-]+\.csv"/);
      expect(text).toStartWith("id,safe_name,safe_tag,created_at,safe_created_by\r\n");
      expect(text).toContain('\r\n-9223372036854775808,"100% Fern_1","",20');
    });

    test("as one JSON array, even an empty one", async () => {
      const { text, response } = await fetched("format=json&tag=bush");
      expect(response.headers.get("content-disposition")).toMatch(/filename="plants-[\d-]+\.json"/);
      expect(JSON.parse(text)).toHaveLength(15);
      expect(JSON.parse((await fetched("format=json&tag=none")).text)).toEqual([]);
    });

    test("in part", async () => {
      const { text } = await fetched("tag=bush");
      expect(text.trimEnd().split("\n")).toHaveLength(15);
    });

    test("by a link that is good once and needs no token", async () => {
      const { status, body } = await send("/api/exports", { format: "csv", tag: "bush" });
      expect(status).toBe(201);
      const link = operatorUrl + String(body["url"]);
      expect((await (await fetch(link)).text()).split("\r\n")).toHaveLength(17);
      expect((await fetch(link)).status).toBe(404);
      expect((await send("/api/exports", { format: "xml" })).body.error).toBe(40031);
      expect((await send("/api/exports", { colour: "green" })).body.error).toBe(40031);
    });
  });

  describe("tokens", () => {
    test("are created, used at once, rotated and revoked", async () => {
      const created = await send("/api/tokens", {
        name: "greenhouse",
        scopes: ["plants:create"],
        expiresIn: "90d",
      });
      expect(created.status).toBe(201);
      const { token, secret } = created.body as unknown as { token: { id: string }; secret: string };
      const use = async (with_: string) =>
        (await post(url, '{"id":3,"name":"x"}', { Authorization: `Bearer ${with_}` })).status;
      expect(await use(secret)).toBe(400);
      const rotated = await send(`/api/tokens/${token.id}/rotate`, { overlap: "0s" });
      expect([rotated.status, await use(secret), await use(String(rotated.body["secret"]))]).toEqual([
        201, 401, 400,
      ]);
      const newId = (rotated.body["token"] as { id: string }).id;
      expect((await send(`/api/tokens/${newId}/revoke`, {})).body["token"]).toMatchObject({
        state: "revoked",
      });
      expect(await use(String(rotated.body["secret"]))).toBe(401);
      const { body } = await call("/api/tokens");
      expect(JSON.stringify(body)).not.toContain("digest");
      expect(JSON.stringify(body)).not.toContain(secret);
      expect(body["tokens"]).toEqual([
        expect.objectContaining({ name: "greenhouse", state: "expired" }),
        expect.objectContaining({ name: "greenhouse", state: "revoked" }),
      ]);
    });

    test("that expire before the overlap is over are not prolonged by rotating", async () => {
      const { body } = await send("/api/tokens", { name: "short", expiresIn: "10m" });
      const { id, expiresAt } = body["token"] as { id: string; expiresAt: string };
      expect((await send(`/api/tokens/${id}/rotate`, { overlap: "1d" })).body["oldUntil"]).toBe(expiresAt);
      const { tokens } = (await call("/api/tokens")).body as unknown as { tokens: { id: string }[] };
      expect(tokens.find((token) => token.id === id)).toMatchObject({ expiresAt });
    });

    test("with an expiry create none that outlives them, by creating or by rotating", async () => {
      const create = async (body: unknown, by = operatorToken) =>
        (await call("/api/tokens", { method: "POST", body: JSON.stringify(body) }, by)) as unknown as {
          status: number;
          body: {
            token: { id: string; expiresAt: string; createdBy: string };
            secret: string;
            message: string;
          };
        };
      const maker = await create({ name: "brief", scopes: ["operator"], expiresIn: "1h" });
      const { secret, token } = maker.body;
      expect(token.createdBy).toBe("preset-operator");
      const longer = await create({ name: "a", expiresIn: "2h" }, secret);
      expect([longer.status, longer.body.message]).toEqual([
        400,
        expect.stringContaining(`expires at ${token.expiresAt.replace(/\.\d+/, "")} at the latest`),
      ]);
      const shorter = await create({ name: "shorter", expiresIn: "10m" }, secret);
      expect(shorter.body.token).toMatchObject({ createdBy: "brief" });
      expect(Date.parse(shorter.body.token.expiresAt)).toBeLessThan(Date.parse(token.expiresAt));
      const without = await create({ name: "without" }, secret);
      expect(without.body.token.expiresAt).toBe(token.expiresAt);
      const lasting = await create({ name: "lasting" });
      expect(lasting.body.token.expiresAt).toBeUndefined();
      for (const { id } of [lasting.body.token, token]) {
        const { body } = await call(`/api/tokens/${id}/rotate`, { method: "POST" }, secret);
        expect(body["token"]).toMatchObject({ expiresAt: token.expiresAt, createdBy: "brief" });
      }
    });

    test("may have a rate limit of their own, which survives a rotation", async () => {
      const { body } = await send("/api/tokens", { name: "slow", rateLimit: "2/h" });
      const { token } = body as unknown as { token: { id: string; rateLimit: string } };
      expect(token.rateLimit).toBe("2/h");
      const rotated = (await send(`/api/tokens/${token.id}/rotate`, {})).body;
      expect(rotated["token"]).toMatchObject({ rateLimit: "2/h" });
      const headers = { Authorization: `Bearer ${rotated["secret"]}` };
      const statuses = [];
      for (let count = 0; count < 4; count++) statuses.push((await post(url, "{}", headers)).status);
      expect(statuses).toEqual([400, 400, 429, 429]);
    });

    const wrong: [string, unknown, number][] = [
      ["/api/tokens", { name: "a", rateLimit: "many" }, 40031],
      ["/api/tokens", { name: "a", rateLimit: "none" }, 40031],
      ["/api/tokens", { name: "preset-access" }, 40031],
      ["/api/tokens", { name: "oidc:someone" }, 40031],
      ["/api/tokens", {}, 40031],
      ["/api/tokens", { name: " " }, 40031],
      ["/api/tokens", { name: "green\u2028house" }, 40031],
      ["/api/tokens", { name: 5 }, 40031],
      ["/api/tokens", { name: "a", scopes: ["all"] }, 40031],
      ["/api/tokens", { name: "a", scopes: [] }, 40031],
      ["/api/tokens", { name: "a", expiresIn: "soon" }, 40031],
      ["/api/tokens", { name: "a", expiresIn: "0s" }, 40031],
      ["/api/tokens", { name: "0123abcd" }, 40031],
      ["/api/tokens", { name: "a", expiresIn: "999999999d" }, 40031],
      ["/api/tokens", [], 40004],
      ["/api/tokens", "x".repeat(70_000), 41301],
      ["/api/tokens/nope/revoke", {}, 40403],
      ["/api/tokens/nope/rotate", {}, 40403],
    ];
    for (const [path, body, error] of wrong) {
      test(`are refused for ${path} ${JSON.stringify(body).slice(0, 40)}`, async () => {
        expect((await send(path, body)).body.error).toBe(error);
      });
    }
  });

  describe("the audit trail", () => {
    const newest = async (count: number) =>
      ((await call(`/api/audit?limit=${count}`)).body["entries"] as Record<string, string>[]).toReversed();

    test("has who created, rotated and revoked a token, from where, and no secret", async () => {
      const { body } = await send("/api/tokens", { name: "traced", expiresIn: "1d", rateLimit: "5/s" });
      const { token, secret } = body as unknown as { token: { id: string }; secret: string };
      await send("/api/tokens", { name: "traced" });
      const rotated = (await send(`/api/tokens/${token.id}/rotate`, {})).body;
      const newId = (rotated["token"] as { id: string }).id;
      await send(`/api/tokens/${newId}/revoke`, {});
      const entries = await newest(3);
      expect(entries).toMatchObject([
        {
          action: "token.created",
          detail: expect.stringMatching(/^\w{8}: plants:create; expires .*Z; 5\/s$/),
        },
        { action: "token.rotated", detail: expect.stringContaining(`${newId}: plants:create`) },
        { action: "token.revoked", detail: newId },
      ]);
      for (const entry of entries)
        expect(entry).toMatchObject({
          actor: "preset-operator",
          subject: "traced",
          address: "127.0.0.1",
          at: expect.stringMatching(/^\d{4}-.*Z$/),
        });
      for (const text of [secret, String(rotated["secret"])])
        expect(JSON.stringify(entries)).not.toContain(text);
    });

    test("has the sign-in, and each export once it starts, even through a link", async () => {
      const reader = String(
        (await send("/api/tokens", { name: "reader", scopes: ["operator:read"] })).body["secret"],
      );
      const signedIn = await call("/api/sign-in", { method: "POST" }, reader);
      expect([signedIn.status, signedIn.body]).toEqual([200, (await call("/api/me", {}, reader)).body]);
      expect(signedIn.body).toMatchObject({ publicUrl: url });
      const headers = { Authorization: `Bearer ${reader}` };
      await fetch(`${operatorUrl}/api/export?tag=bush`, { method: "HEAD", headers });
      await (await fetch(`${operatorUrl}/api/export?tag=bush`, { headers })).text();
      const { body } = await send("/api/exports", { format: "csv" });
      await (await fetch(operatorUrl + String(body["url"]))).text();
      expect(await newest(4)).toMatchObject([
        { action: "token.created" },
        { action: "console.signed-in", actor: "reader", detail: "operator:read" },
        { action: "export.started", actor: "reader", detail: "ndjson, tag bush", address: "127.0.0.1" },
        { action: "export.started", actor: "preset-operator", detail: "csv", address: "127.0.0.1" },
      ]);
    });

    test("is read in pages, and has no entry for a refusal", async () => {
      const before = await call("/api/audit?limit=1");
      await call("/api/sign-in", { method: "POST" }, "wrong-token-0123456789");
      await call("/api/sign-in", { method: "POST" }, accessToken);
      await send("/api/tokens", { name: "preset" });
      expect((await call("/api/audit?limit=1")).body).toEqual(before.body);
      const next = await call(`/api/audit?limit=1&cursor=${before.body["next"]}`);
      expect(next.body["entries"]).not.toEqual(before.body["entries"] as never);
      for (const query of ["limit=0", "limit=1001", "cursor=x", "actor=me"])
        expect((await call(`/api/audit?${query}`)).body.error).toBe(40031);
    });

    test("has an entry for each read from the beginning, and none for other pages", async () => {
      const { body } = await send("/api/tokens", { name: "follower", scopes: ["operator:read"] });
      const follow = (query: string, method = "GET") =>
        fetch(`${operatorUrl}/api/plants?${query}`, {
          method,
          headers: { Authorization: `Bearer ${body["secret"]}` },
        });
      const { next, newest: end } = (await (await follow("after=0&limit=1&tag=bush")).json()) as {
        next: string;
        newest: string;
      };
      await follow("after=0", "HEAD");
      for (const query of [`after=${next}`, `after=${end}`, "", "order=oldest", "after=0&order=oldest"])
        await follow(query);
      expect(await newest(2)).toMatchObject([
        { action: "token.created", subject: "follower" },
        {
          action: "follow.started",
          actor: "follower",
          subject: "plants",
          detail: "tag bush",
          address: "127.0.0.1",
        },
      ]);
    });

    test("does not fill up while a program follows an empty store", async () => {
      await using running = await engine.start();
      const read = async (path: string) => {
        const headers = { Authorization: `Bearer ${operatorToken}` };
        return (await (await fetch(`${running.operatorUrl}/api/${path}`, { headers })).json()) as {
          next: string;
          newest: string;
          entries: object[];
        };
      };
      let { next } = await read("plants?after=0");
      for (let polls = 0; polls < 3; polls++) ({ next } = await read(`plants?after=${next}`));
      await read(`plants?after=${(await read("plants")).newest}`);
      expect((await read("audit")).entries).toMatchObject([{ action: "follow.started" }]);
    });

    test("without an entry, nobody signs in, exports or reads from the beginning", async () => {
      await using running = await engine.start();
      const refuse =
        engine.name === "sqlite" ? "DROP TABLE audit_trail" : "ALTER TABLE audit_trail RENAME TO elsewhere";
      await engine.run(running.database, refuse);
      const headers = { Authorization: `Bearer ${operatorToken}` };
      for (const [method, path] of [
        ["POST", "sign-in"],
        ["GET", "export"],
        ["GET", "plants?after=0"],
      ] as const) {
        const { status } = await fetch(`${running.operatorUrl}/api/${path}`, { method, headers });
        expect([path, status >= 500]).toEqual([path, true]);
      }
    });
  });

  describe("bodies are read as strictly as a plant is", () => {
    const wrong: [string, string, number, string][] = [
      ["/api/tokens", '{"name":"a","expires":"1d"}', 40031, 'no field "expires" here; expected name, scopes'],
      ["/api/tokens", '{"name":"a","__proto__":{}}', 40031, 'no field "__proto__" here'],
      ["/api/tokens", '{"name":"a","n\\u0061me":"b"}', 40005, 'The name "name" appears more than once'],
      ["/api/tokens", '{"name":"a","expiresIn":"1d","expiresIn":"90d"}', 40005, '"expiresIn"'],
      ["/api/tokens", '{"name":"a",}', 40002, "line 1, column 13"],
      ["/api/tokens", '{"name":"a"} {}', 40002, "nothing after the value"],
      ["/api/tokens", "\ufeff{}", 40003, "byte order mark"],
      ["/api/tokens", '{"name":"\\ud800"}', 40003, "surrogate"],
      ["/api/tokens", "null", 40004, "must be a JSON object, but is null"],
      ["/api/tokens/ID/rotate", '{"overlapp":"0s"}', 40031, 'no field "overlapp" here; expected overlap'],
      ["/api/tokens/ID/rotate", '{"overlap":"0s","overlap":"1d"}', 40005, '"overlap"'],
      ["/api/tokens/ID/revoke", '{"when":"later"}', 40031, 'no field "when" here; no fields are expected'],
      ["/api/exports", '{"colour":"green"}', 40031, 'no field "colour" here; expected format, id'],
      ["/api/exports", '{"tag":"a","tag":"b"}', 40005, '"tag"'],
    ];
    for (const [path, body, error, message] of wrong) {
      test(`${path} does not take ${body}`, async () => {
        const { tokens } = (await call("/api/tokens")).body as unknown as { tokens: { id: string }[] };
        const target = path.replace("ID", tokens[0]?.id ?? "");
        const answer = await call(target, { method: "POST", body });
        expect([answer.status, answer.body.error, answer.body.message]).toEqual([
          400,
          error,
          expect.stringContaining(message),
        ]);
        expect((await call("/api/tokens")).body["tokens"]).toEqual(tokens as never);
      });
    }
  });

  describe("nobody gets in", () => {
    // What each route needs, and which tokens besides one of that very scope have it.
    const scopeOf = (route: string): Scope => {
      if (route === "POST /plants") return "plants:create";
      if (route === "GET /metrics") return "metrics";
      return /^(?:GET|POST) \/api\/(?:tokens|audit|settings|backups)/.test(route)
        ? "operator"
        : "operator:read";
    };
    const holders: Record<Scope, readonly Scope[]> = {
      "plants:create": ["plants:create"],
      "operator:read": ["operator:read", "operator"],
      metrics: ["metrics", "operator"],
      operator: ["operator"],
    };
    const secrets = {} as Record<Scope, string>;
    beforeAll(async () => {
      for (const scope of scopes) {
        const { body } = await send("/api/tokens", { name: `only ${scope}`, scopes: [scope] });
        secrets[scope] = String(body["secret"]);
      }
    });

    for (const { method, path, scope } of operatorRoutes) {
      // It needs two; operator-import.test.ts has it.
      if (scope === "none" || path === "/api/imports") continue;
      test(`to ${method} ${path} without the scope`, async () => {
        const target = path.replaceAll(/\{\w+\}/g, "1");
        const without = await fetch(operatorUrl + target, { method });
        expect([without.status, without.headers.get("www-authenticate")]).toEqual([
          401,
          'Bearer realm="plant-store"',
        ]);
        expect((await call(target, { method }, "wrong-token-0123456789")).body.error).toBe(40102);
        const needed = scopeOf(`${method} ${path}`);
        for (const held of scopes) {
          const headers = { Authorization: `Bearer ${secrets[held]}` };
          const response = await fetch(operatorUrl + target, { method, headers });
          const challenge = response.headers.get("www-authenticate");
          await response.body?.cancel();
          if (holders[needed].includes(held)) expect([held, challenge]).toEqual([held, null]);
          else
            expect([held, response.status, challenge]).toEqual([
              held,
              403,
              `Bearer realm="plant-store", error="insufficient_scope", scope="${needed}"`,
            ]);
        }
      });
    }

    test("by a name that another site could have made point here", async () => {
      const port = Number(new URL(operatorUrl).port);
      for (const [host, status] of [
        ["evil.example", 421],
        [`127.0.0.1:${port}`, 200],
        ["localhost", 200],
        ["[::1]:1", 200],
        ["localhost.evil.example", 421],
        ["127.0.0.1:99999", 421],
      ] as const) {
        const { text } = await sendRaw(port, [`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`]);
        expect(text).toStartWith(`HTTP/1.1 ${status} `);
        if (status === 421) expect(text).toContain('{"error":42101,');
      }
    });

    test("by a name that --operator-hosts does not have", async () => {
      await using named = await startTestService({ "operator-hosts": "plants.example.org, Garden.example" });
      const port = Number(new URL(named.operatorUrl).port);
      for (const [host, status] of [
        ["plants.example.org", 200],
        ["GARDEN.example:8443", 200],
        ["localhost", 200],
        ["evil.plants.example.org", 421],
        ["example.org", 421],
      ] as const) {
        const { text } = await sendRaw(port, [`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`]);
        expect(text).toStartWith(`HTTP/1.1 ${status} `);
      }
    });
  });

  describe("the other paths", () => {
    test("errors have the Error body everywhere", async () => {
      for (const [path, method, error] of [
        ["/nothing", "GET", 40401],
        ["/api/plants", "DELETE", 40501],
        ["/assets/none.js", "GET", 40401],
      ] as const) {
        const response = await fetch(operatorUrl + path, { method });
        expect(response.headers.get("content-type")).toBe("application/json");
        expect(response.headers.get("x-request-id")).not.toBeNull();
        expect(response.headers.get("cache-control")).toBe("no-store");
        expect(await response.json()).toEqual({ error, message: expect.any(String) });
      }
    });

    test("a browser gets the console with 404 at an unknown path, and everyone else the Error body", async () => {
      const page = await (await fetch(operatorUrl)).text();
      const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
      for (const path of [
        "/nowhere",
        "/plants/",
        "/plants/7/leaves",
        "/plants/%zz",
        "/api/nowhere",
        "/assets/no.js",
      ]) {
        const at = async (accept: string, method = "GET") => {
          const response = await fetch(operatorUrl + path, { method, headers: { Accept: accept } });
          const [type] = (response.headers.get("content-type") ?? "").split(";");
          return { response, seen: [path, method, response.status, type] };
        };
        const { response, seen } = await at(browser);
        expect(seen).toEqual([path, "GET", 404, "text/html"]);
        expect(await response.text()).toBe(page);
        expect(response.headers.get("vary")).toBe("Accept, Accept-Encoding");
        expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
        expect((await at(browser, "HEAD")).seen).toEqual([path, "HEAD", 404, "text/html"]);
        const others = [["*/*"], ["application/json"], ["text/html;q=0"], [browser, "POST"]] as const;
        for (const [accept, method] of path === "/assets/no.js" ? others.slice(0, 3) : others) {
          const { response, seen } = await at(accept, method);
          expect(seen).toEqual([path, method ?? "GET", 404, "application/json"]);
          expect(await response.json()).toMatchObject({ error: 40401 });
        }
      }
    });

    test("metrics count what was done, whatever is logged", async () => {
      const headers = { Authorization: `Bearer ${operatorToken}` };
      const read = async () => {
        const text = await (await fetch(`${operatorUrl}/metrics`, { headers })).text();
        return new Map(
          [...text.matchAll(/^(plant_store_\S+) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]),
        );
      };
      const before = await read();
      await post(url, '{"id":777,"name":"counted"}');
      await post(url, '{"id":777,"name":"counted"}');
      await post(url, '{"id":777,"name":"other"}');
      await post(url, "{");
      const after = await read();
      const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
      expect(grown("plant_store_plants_created_total")).toBe(1);
      expect(grown("plant_store_plants_replayed_total")).toBe(1);
      expect(grown('plant_store_refusals_total{listener="public",error="40020"}')).toBe(1);
      expect(grown('plant_store_refusals_total{listener="public",error="40002"}')).toBe(1);
      expect(grown("plant_store_batches_total")).toBe(3);
      expect(grown("plant_store_commit_duration_seconds_count")).toBe(3);
      expect(grown('plant_store_request_duration_seconds_count{outcome="conflict"}')).toBe(1);
      // Only SQLite's are the service's own.
      const isSqlite = engine.name === "sqlite";
      expect(grown('plant_store_fsync_duration_seconds_count{file="wal"}')).toBe(isSqlite ? 3 : 0);
      expect(after.has("plant_store_checkpoints_total")).toBe(isSqlite);
      expect(after.has('plant_store_tokens{state="live"}')).toBe(true);
      expect(after.get("plant_store_ready")).toBe(1);
      expect(after.get("plant_store_pending_plants")).toBe(0);
      expect((await fetch(`${operatorUrl}/metrics`)).status).toBe(401);
    });

    test("livez and readyz", async () => {
      expect((await fetch(`${operatorUrl}/livez`)).status).toBe(200);
      expect((await fetch(`${operatorUrl}/readyz`)).status).toBe(200);
    });

    test("a plant is passed on to the public contract as it is", async () => {
      const forward = (body: string, token = accessToken) =>
        fetch(`${operatorUrl}/plants`, {
          method: "POST",
          body,
          headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
        });
      const created = await forward('{"id":9223372036854775807,"name":"last"}');
      expect([created.status, await created.json()]).toEqual([200, { name: "last" }]);
      expect(
        (await forward('{"id":9223372036854775807,"name":"last"}')).headers.get("idempotent-replayed"),
      ).toBe("true");
      expect(await (await forward('{"id":9223372036854775808,"name":"x"}')).json()).toMatchObject({
        error: 40012,
      });
      expect(await (await forward('{"id":1,"name":"x"}', operatorToken)).json()).toMatchObject({
        error: 40301,
      });
      expect((await call("/api/plants/9223372036854775807")).body).toMatchObject({ name: "last" });
    });
  });

  test("a token that is revoked while a body is on its way does nothing", async () => {
    const { body } = await send("/api/tokens", { name: "late body", scopes: ["operator", "plants:create"] });
    const { token, secret } = body as unknown as { token: { id: string }; secret: string };
    const late = async (port: number, path: string, text: string) => {
      const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n`;
      const socket = connect({ port, host: "127.0.0.1" });
      let received = "";
      socket.on("data", (bytes) => {
        received += bytes;
      });
      await new Promise((resolve) =>
        socket.write(`${head}Content-Length: ${text.length}\r\n\r\n${text.slice(0, -1)}`, resolve),
      );
      return async () => {
        socket.write(text.slice(-1));
        await eventually(() => received.includes('"error"') || received.includes(" 20"));
        socket.destroy();
        return received.slice(0, 12);
      };
    };
    const pending = [
      await late(Number(new URL(operatorUrl).port), "/api/tokens", '{"name":"heir","scopes":["operator"]}'),
      await late(Number(new URL(url).port), "/plants", '{"id":31337,"name":"late"}'),
    ];
    await Bun.sleep(100);
    expect((await send(`/api/tokens/${token.id}/revoke`, {})).status).toBe(200);
    expect(await Promise.all(pending.map((finish) => finish()))).toEqual(["HTTP/1.1 401", "HTTP/1.1 401"]);
    const { tokens } = (await call("/api/tokens")).body as unknown as { tokens: { name: string }[] };
    expect(tokens.map(({ name }) => name)).not.toContain("heir");
    expect((await call("/api/plants/31337")).status).toBe(404);
  });

  test("asking for the head of a stream neither opens nor uses it up", async () => {
    const { body } = await send("/api/exports", { tag: "bush" });
    const link = operatorUrl + String(body["url"]);
    expect((await fetch(link, { method: "HEAD" })).status).toBe(405);
    expect((await fetch(link)).status).toBe(200);
  });
});
