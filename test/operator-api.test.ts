import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Scope, scopes } from "../src/access/scopes.ts";
import { accessToken, eventually, operatorToken, post, sendRaw, startTestService } from "./harness.ts";
import { operatorRoutes } from "./routes.ts";

type Body = Record<string, unknown>;

interface TokenMade {
  readonly token: { readonly id: string; readonly expiresAt: string };
  readonly secret: string;
}

const unsafeId = "9007199254740993";
const minId = "-9223372036854775808";
let running = await startTestService();
afterAll(() => running[Symbol.asyncDispose]());

beforeAll(async () => {
  const oaks = Array.from({ length: 30 }, (_, index) => index + 10).map((id) =>
    JSON.stringify({ id, name: `Oak ${id}`, tag: id % 2 ? "tree" : "bush" }),
  );
  for (const plant of [
    `{"id":${unsafeId},"name":"Árbol de Navidad","tag":"tree"}`,
    `{"id":${minId},"name":"100% Fern_1","tag":""}`,
    '{"id":3,"name":"Moss, \\"the\\" soft\\nkind"}',
    ...oaks,
  ])
    expect((await post(running.url, plant)).status).toBe(200);
});

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

function request(path: string, method = "GET", token = operatorToken, body?: string): Promise<Response> {
  return fetch(running.operatorUrl + path, { method, headers: bearer(token), ...(body && { body }) });
}

async function get(path: string, token = operatorToken): Promise<Body> {
  return (await (await request(path, "GET", token)).json()) as Body;
}

async function send(path: string, body: unknown = {}, token = operatorToken): Promise<Body> {
  return (await (await request(path, "POST", token, JSON.stringify(body))).json()) as Body;
}

async function createToken(name: string, more: object = {}, by = operatorToken): Promise<TokenMade> {
  return (await send("/api/tokens", { name, ...more }, by)) as unknown as TokenMade;
}

const tokens = async () => (await get("/api/tokens"))["tokens"] as (Body & { id: string; name: string })[];
/** The newest entries of the audit trail, in the order in which they were written. */
const audited = async (count: number) =>
  ((await get(`/api/audit?limit=${count}`))["entries"] as Body[]).toReversed();
const idsOf = (page: Body) => (page["plants"] as { id: string }[]).map(({ id }) => id);

describe("plants", () => {
  test("are listed in both orders, with every field, in pages that neither repeat nor skip", async () => {
    const first = await get("/api/plants?limit=20");
    const rest = await get(`/api/plants?limit=1000&cursor=${first["next"]}`);
    const ids = [first, rest].flatMap(idsOf);
    expect([...ids.slice(0, 3), ...ids.slice(-3)]).toEqual(["39", "38", "37", "3", minId, unsafeId]);
    expect(ids).toHaveLength(33);
    expect(rest).not.toHaveProperty("next");
    const { plants } = await get("/api/plants?limit=2&order=oldest");
    const createdAt = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/);
    expect(plants).toEqual([
      { id: unsafeId, name: "Árbol de Navidad", tag: "tree", createdAt, createdBy: "preset-access" },
      { id: minId, name: "100% Fern_1", tag: "", createdAt, createdBy: "preset-access" },
    ] as never);
  });

  // How each engine filters is tested with the stores; this is how the parameters are read.
  const filtered: [string, string[]][] = [
    ["tag=bush&limit=2", ["38", "36"]],
    ["tag=", [minId]],
    ["name=%C3%A1RBOL", [unsafeId]],
    ["name=0%25%20f", [minId]],
    [`id=${unsafeId}`, [unsafeId]],
    ["id=9007199254740992", []],
    ["token=preset-access&tag=tree&limit=1", ["39"]],
    ["since=2100-01-01T00:00:00%2B02:00", []],
    ["since=2100-01-01T09:30", []],
  ];
  test("are filtered, and shown one by one", async () => {
    for (const [query, ids] of filtered)
      expect([query, idsOf(await get(`/api/plants?${query}`))]).toEqual([query, ids]);
    expect(await get(`/api/plants/${unsafeId}`)).toMatchObject({ id: unsafeId, tag: "tree" });
    expect(await get("/api/plants/9007199254740992")).toMatchObject({ error: 40402 });
  });

  const wrong = [
    ["plants?limit=0", 'Parameter "limit" must be a whole number from 1 to 1000, but is "0".'],
    ["plants?tag=%00", "U+0000"],
    [`plants?name=${"n".repeat(101)}`, "over 100 characters"],
    ["plants?since=yesterday", "since"],
    ["plants?order=random", "newest or oldest"],
    ["plants?colour=green", 'There is no parameter "colour"'],
    [`plants?${"a".repeat(49)}%F0%9F%8C%B1=`, 'a\ufffd" here'],
    ["plants?tag=a&tag=b", "more than once"],
    ["plants/x", "id"],
    ["plants/count?name=x&cursor=z", "cursor"],
    ["audit?limit=1001", "limit"],
  ] as const;
  test("and whatever else is listed, are not if a parameter is wrong", async () => {
    for (const [path, message] of wrong)
      expect([path, await get(`/api/${path}`)]).toEqual([
        path,
        { error: 40031, message: expect.stringContaining(message) },
      ]);
  });
});

describe("plants are exported", () => {
  const formats: [query: string, fileName: RegExp, start: string, part: string][] = [
    ["", /\.ndjson"$/, `{"id":${unsafeId},"name":"Árbol de Navidad","tag":"tree","createdAt":"`, '"tag":""'],
    ["format=csv", /\.csv"$/, "id,name,tag,created_at,created_by\r\n", `\r\n${minId},100% Fern_1,"",20`],
    ["format=csv-safe", /\.csv"$/, "id,safe_name,safe_tag,", `\r\n${minId},"100% Fern_1","",20`],
    ["format=json", /\.json"$/, '[\n{"id":', "\n]\n"],
  ];
  test("in every format", async () => {
    for (const [query, fileName, start, part] of formats) {
      const response = await request(`/api/export?${query}`);
      const disposition = response.headers.get("content-disposition");
      expect(disposition).toMatch(/^attachment; filename="plants-\d{4}-\d\d-\d\d/);
      expect(disposition).toMatch(fileName);
      const text = await response.text();
      expect(text).toStartWith(start);
      expect(text).toContain(part);
      const { headers } = await request(`/api/export?${query}`, "HEAD");
      expect(headers.has("content-length")).toBe(false);
    }
  });

  test("by a link that is good once, needs no token, and is not used up by asking for its head", async () => {
    const link = running.operatorUrl + (await send("/api/exports", { format: "csv", tag: "bush" }))["url"];
    expect((await fetch(link, { method: "HEAD" })).status).toBe(405);
    expect((await (await fetch(link)).text()).split("\r\n")).toHaveLength(17);
    expect((await fetch(link)).status).toBe(404);
  });
});

describe("tokens", () => {
  test("are created, used at once, rotated and revoked, and the audit trail says by whom and from where", async () => {
    const made = await createToken("greenhouse", { expiresIn: "90d" });
    const use = async (secret: string) => (await post(running.url, "{}", bearer(secret))).status;
    expect(await use(made.secret)).toBe(400);
    const rotation = await send(`/api/tokens/${made.token.id}/rotate`, { overlap: "0s" });
    const rotated = rotation as unknown as TokenMade;
    expect([await use(made.secret), await use(rotated.secret)]).toEqual([401, 400]);
    const { id } = rotated.token;
    const revoked = await send(`/api/tokens/${id}/revoke`);
    expect(revoked["token"]).toMatchObject({ state: "revoked" });
    expect(await use(rotated.secret)).toBe(401);
    const listed = (await tokens()).filter(({ name }) => name === "greenhouse");
    expect(listed.map(({ state }) => state)).toEqual(["expired", "revoked"]);
    const entries = await audited(3);
    const by = { actor: "preset-operator", subject: "greenhouse", address: "127.0.0.1" };
    const created = /^\w{8}: plants:create; expires .*Z$/;
    expect(entries).toMatchObject([
      { ...by, action: "token.created", detail: expect.stringMatching(created) },
      { ...by, action: "token.rotated", detail: expect.stringContaining(`${id}: plants:create`) },
      { ...by, action: "token.revoked", detail: id, at: expect.stringMatching(/^\d{4}-.*Z$/) },
    ]);
    const told = JSON.stringify([listed, entries]);
    for (const text of ["digest", made.secret, rotated.secret]) expect(told).not.toContain(text);
  });

  test("that expire before the overlap is over are not prolonged by rotating", async () => {
    const { id, expiresAt } = (await createToken("short", { expiresIn: "10m" })).token;
    expect(await send(`/api/tokens/${id}/rotate`, { overlap: "1d" })).toMatchObject({ oldUntil: expiresAt });
    expect((await tokens()).find((token) => token.id === id)).toMatchObject({ expiresAt });
  });

  test("with an expiry create none that outlives them, by creating or by rotating", async () => {
    const { secret, token } = await createToken("brief", { scopes: ["operator"], expiresIn: "1h" });
    const latest = `must expire by ${token.expiresAt.replace(/\.\d+/, "")}`;
    expect(await createToken("a", { expiresIn: "2h" }, secret)).toMatchObject({
      error: 40031,
      message: expect.stringContaining(latest),
    });
    const shorter = await createToken("shorter", { expiresIn: "10m" }, secret);
    expect(shorter.token).toMatchObject({ createdBy: "brief" });
    const lasting = await createToken("lasting");
    expect(lasting.token.expiresAt).toBeUndefined();
    for (const { id } of [lasting.token, token])
      expect((await send(`/api/tokens/${id}/rotate`, {}, secret))["token"]).toMatchObject({
        expiresAt: token.expiresAt,
        createdBy: "brief",
      });
  });

  const wrong: [path: string, body: string, error: number, message: string][] = [
    ["tokens", '{"name":"oidc:someone"}', 40031, "reserved"],
    ["tokens", "{}", 40031, '"name" is missing'],
    ["tokens", '{"name":"a","scopes":["all"]}', 40031, "scopes"],
    ["tokens", '{"name":"a","scopes":[]}', 40031, "scopes"],
    ["tokens", '{"name":"a","expiresIn":"soon"}', 40031, '"expiresIn" must be a number with a unit'],
    ["tokens", '{"name":"a","expiresIn":"0s"}', 40031, "at least 1 second"],
    ["tokens", '{"name":"a","expiresIn":"999999999d"}', 40031, "at most 100 years"],
    ["tokens", `"${"x".repeat(70_000)}"`, 41301, "over the limit"],
    ["tokens", '{"name":"a","expires":"1d"}', 40031, 'no field "expires" here; expected name, scopes'],
    ["tokens", '{"name":"a","n\\u0061me":"b"}', 40005, 'The name "name" appears more than once'],
    ["tokens", '{"name":"a",}', 40002, "line 1, column 13"],
    ["tokens/ID/rotate", '{"overlapp":"0s"}', 40031, 'no field "overlapp" here; expected overlap'],
    ["tokens/ID/revoke", '{"when":"later"}', 40031, 'no field "when" here; no fields are expected'],
    ["tokens/nope/revoke", "{}", 40403, "nope"],
    ["exports", '{"format":"xml"}', 40031, "format"],
  ];
  test("do not change if a body is wrong", async () => {
    const before = await tokens();
    for (const [path, body, error, message] of wrong) {
      const target = `/api/${path.replace("ID", before[0]?.id ?? "")}`;
      const answer = await (await request(target, "POST", operatorToken, body)).json();
      expect([body.slice(0, 50), answer]).toEqual([
        body.slice(0, 50),
        { error, message: expect.stringContaining(message) },
      ]);
    }
    expect(await tokens()).toEqual(before);
  });
});

describe("the audit trail", () => {
  test("has the sign-in, each export once it starts, even through a link, and each read from the beginning", async () => {
    const { secret } = await createToken("reader", { scopes: ["operator:read"] });
    const signedIn = await send("/api/sign-in", {}, secret);
    expect(signedIn).toEqual(await get("/api/me", secret));
    expect(signedIn).toMatchObject({ name: "reader", publicUrl: running.url });
    for (const method of ["HEAD", "GET"])
      await (await request("/api/export?tag=bush", method, secret)).arrayBuffer();
    const { url } = await send("/api/exports", { format: "csv" });
    await (await fetch(running.operatorUrl + url)).arrayBuffer();
    const page = await get("/api/plants?after=0&limit=1&tag=bush", secret);
    await request("/api/plants?after=0", "HEAD", secret);
    for (const query of [`after=${page["next"]}`, `after=${page["newest"]}`, "", "order=oldest"])
      await get(`/api/plants?${query}`, secret);
    const reader = { actor: "reader", address: "127.0.0.1" };
    expect(await audited(5)).toMatchObject([
      { action: "token.created" },
      { ...reader, action: "console.signed-in", detail: "operator:read" },
      { ...reader, action: "export.started", detail: 'ndjson, tag "bush"' },
      { action: "export.started", actor: "preset-operator", detail: "csv", address: "127.0.0.1" },
      { ...reader, action: "follow.started", subject: "plants", detail: 'tag "bush"' },
    ]);
  });

  test("has each read from the beginning, however its cursor says so", async () => {
    await using service = await startTestService();
    const list = async (query: string) => {
      const response = await fetch(`${service.operatorUrl}/api/plants?${query}`, {
        headers: bearer(operatorToken),
      });
      return (await response.json()) as Body;
    };
    const { newest: ofEmpty } = await list("");
    expect(ofEmpty).toMatch(/^[0-9a-f]{16}\.0\.0$/);
    await post(service.url, '{"id":1,"name":"Fern"}');
    expect(idsOf(await list(`after=${ofEmpty}`))).toEqual(["1"]);
    using database = new Database(service.database, { readonly: true });
    const entries = database.query<Body, []>("SELECT action, detail FROM audit_trail").all();
    expect(entries).toEqual([{ action: "follow.started", detail: "" }]);
  });

  test("quotes the filters of an export", async () => {
    await (await request(`/api/export?${new URLSearchParams({ tag: "x, namePart y", id: "7" })}`)).text();
    expect(await audited(1)).toMatchObject([{ detail: 'ndjson, id 7, tag "x, namePart y"' }]);
  });

  test("is read in pages, and has no entry for a refusal", async () => {
    const before = await get("/api/audit?limit=1");
    await send("/api/sign-in", {}, "wrong-token-0123456789");
    await send("/api/sign-in", {}, accessToken);
    await createToken("preset");
    expect(await get("/api/audit?limit=1")).toEqual(before);
    const next = await get(`/api/audit?limit=1&cursor=${before["next"]}`);
    expect(next["entries"]).not.toEqual(before["entries"] as never);
  });

  test("does not fill up while a program follows an empty store; without an entry, nobody gets in", async () => {
    const previous = running;
    await using empty = await startTestService();
    running = empty;
    try {
      let { next } = await get("/api/plants?after=0");
      for (let polls = 0; polls < 3; polls++) ({ next } = await get(`/api/plants?after=${next}`));
      await get(`/api/plants?after=${(await get("/api/plants"))["newest"]}`);
      expect(await audited(10)).toMatchObject([{ action: "follow.started" }]);
      using database = new Database(empty.database);
      database.run("DROP TABLE audit_trail");
      const answers = [
        await send("/api/sign-in"),
        await get("/api/export"),
        await get("/api/plants?after=0"),
      ];
      for (const { error } of answers) expect(error).toBeGreaterThan(50000);
    } finally {
      running = previous;
    }
  });
});

describe("nobody gets in", () => {
  // What each route needs, and which tokens have it.
  const scopeOf = (route: string): Scope => {
    if (route === "POST /plants") return "plants:create";
    if (route === "GET /metrics") return "metrics";
    const needsOperator = /^(?:GET|POST) \/api\/(?:tokens|audit|settings|backups)/.test(route);
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
  /** What must not change: every plant, and of every token what it allows. */
  const state = async () => ({
    plants: await get("/api/plants?limit=1000"),
    tokens: (await tokens()).map((token) => ({ ...token, lastUsedAt: undefined })),
  });

  test("without the scope that a route needs, which the challenge names, and nothing changes", async () => {
    const all = { scopes: [...scopes] };
    const ended = ["wrong-token-0123456789", "x", "-".repeat(5000)];
    for (const [name, more, path] of [
      ["is expired", { expiresIn: "1s" }, undefined],
      ["is replaced", {}, "rotate"],
      ["is revoked", {}, "revoke"],
    ] as const) {
      const { token, secret } = await createToken(name, { ...all, ...more });
      if (path !== undefined)
        await send(`/api/tokens/${token.id}/${path}`, path === "rotate" ? { overlap: "0s" } : {});
      await eventually(async () => (await request("/api/me", "GET", secret)).status === 401, name);
      ended.push(secret);
    }
    const secrets: [Scope, string][] = [];
    for (const scope of scopes)
      secrets.push([scope, (await createToken(`only ${scope}`, { scopes: [scope] })).secret]);
    const before = await state();
    // An import needs two scopes; operator-import.test.ts has it.
    for (const { method, path } of operatorRoutes.filter(
      ({ scope, path }) => scope !== "none" && !path.startsWith("/api/imports"),
    )) {
      const target = path.replaceAll(/\{\w+\}/g, before.tokens[0]?.id ?? "");
      const challenge = async (token: string, body?: string) => {
        const response = await request(target, method, token, body);
        await response.body?.cancel();
        return response.headers.get("www-authenticate");
      };
      const attack = (token: string) =>
        challenge(token, method === "GET" ? undefined : (harmful[path] ?? "{}"));
      const needed = scopeOf(`${method} ${path}`);
      const realm = 'Bearer realm="plant-store"';
      for (const [held, secret] of secrets)
        if (!holders[needed].includes(held))
          expect([path, held, await attack(secret)]).toEqual([
            path,
            held,
            `${realm}, error="insufficient_scope", scope="${needed}"`,
          ]);
        else if (method === "GET") expect([path, held, await challenge(secret)]).toEqual([path, held, null]);
      for (const secret of ended) expect(await attack(secret)).toBe(`${realm}, error="invalid_token"`);
      const without = await fetch(running.operatorUrl + target, { method });
      expect([without.status, without.headers.get("www-authenticate")]).toEqual([401, realm]);
    }
    expect(await state()).toEqual(before);
  });

  test("by a name that another site could have made point here, or that --operator-hosts does not have", async () => {
    await using named = await startTestService({ "operator-hosts": "plants.example.org, Garden.example" });
    for (const [service, host, status] of [
      [running, "evil.example", 421],
      [running, new URL(running.operatorUrl).host, 200],
      [running, "localhost", 200],
      [running, "[::1]:1", 200],
      [running, "plants-1.Garden.localhost:3001", 200],
      [running, "localhost.evil.example", 421],
      [running, "evil.example%00.localhost", 421],
      [running, "evil.example%2f.localhost", 421],
      [running, "evil.example,.localhost", 421],
      [running, "evil_example.localhost", 421],
      [running, ".localhost", 421],
      [running, "127.0.0.1:99999", 421],
      [named, "plants.example.org", 200],
      [named, "GARDEN.example:8443", 200],
      [named, "localhost", 200],
      [named, "evil.plants.example.org", 421],
      [named, "example.org", 421],
    ] as const) {
      const port = Number(new URL(service.operatorUrl).port);
      const { text } = await sendRaw(port, [`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`]);
      expect(text).toStartWith(`HTTP/1.1 ${status} `);
      if (status === 421) expect(text).toContain('{"error":42101,');
    }
  });
});

const posts = operatorRoutes.filter(({ method }) => method === "POST").map(({ path }) => path);
test.each(posts)("an encoded body is refused by POST %s", async (path) => {
  const { token, secret } = await createToken(crypto.randomUUID(), {
    scopes: ["plants:create", "operator"],
  });
  const headers = {
    ...bearer(secret),
    "Content-Type": "application/json",
    "Content-Encoding": "gzip",
  };
  const target = path.replaceAll(/\{\w+\}/g, token.id);
  const body = Bun.gzipSync('{"id":667,"name":"encoded"}\n');
  const response = await fetch(running.operatorUrl + target, { method: "POST", headers, body });
  expect(await response.json()).toMatchObject({ error: 41502 });
});

test("a browser gets the console with 404 at an unknown path, and everyone else the Error body", async () => {
  const page = await (await fetch(running.operatorUrl)).text();
  const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
  const at = (path: string, accept: string, method = "GET") =>
    fetch(running.operatorUrl + path, { method, headers: { Accept: accept } });
  for (const path of ["/nowhere", "/api/nowhere", "/assets/no.js"]) {
    const shown = await at(path, browser);
    expect([path, shown.status, await shown.text()]).toEqual([path, 404, page]);
    expect(shown.headers.get("vary")).toBe("Accept, Accept-Encoding");
    expect(shown.headers.get("content-security-policy")).toContain("default-src 'none'");
    const { status, headers } = await at(path, browser, "HEAD");
    expect([status, headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
    expect(await (await at(path, "*/*")).json()).toMatchObject({ error: 40401 });
  }
  expect(await (await at("/nowhere", browser, "POST")).json()).toMatchObject({ error: 40401 });
  expect(await (await at("/api/plants", browser, "DELETE")).json()).toMatchObject({ error: 40501 });
});
