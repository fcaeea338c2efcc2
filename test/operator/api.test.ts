// The operator API: plants, exports, tokens, the audit trail, and who is kept out.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Scope, scopes } from "../../src/access/scopes.ts";
import type { MintedTokenJson } from "../../src/operator/responses.ts";
import { eventually } from "../support/eventually.ts";
import { mintToken, operatorFetch, operatorGet, operatorPost } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { sendRaw } from "../support/raw-http.ts";
import { operatorRoutes } from "../support/routes.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { accessToken, bearer, operatorToken } from "../support/tokens.ts";

type Body = Record<string, unknown>;

const unsafeId = "9007199254740993";
const minId = "-9223372036854775808";
// The tests share a service and its plants, which none of them changes. Each creates the tokens that it needs.
const running = await startTestService();
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

/** The calls of a service's operator API, with a token that may do everything there unless another is given. */
function apiOf(service: TestService) {
  function get(path: string, token = operatorToken): Promise<Body> {
    return operatorGet<Body>(service, path, { token });
  }

  function send<Answer = Body>(path: string, body?: object, token = operatorToken): Promise<Answer> {
    return operatorPost<Answer>(service, path, body, { token });
  }

  function createToken(name: string, more: object = {}, by?: string): Promise<MintedTokenJson> {
    return mintToken(service, { name, ...more }, by);
  }

  async function tokens(): Promise<(Body & { id: string; name: string })[]> {
    return (await get("/api/tokens"))["tokens"] as (Body & { id: string; name: string })[];
  }

  /** The newest entries of the audit trail, in the order in which they were written. */
  async function audited(count: number): Promise<Body[]> {
    return ((await get(`/api/audit?limit=${count}`))["entries"] as Body[]).toReversed();
  }
  return { get, send, createToken, tokens, audited };
}

const { get, send, createToken, tokens, audited } = apiOf(running);
const idsOf = (page: Body) => (page["plants"] as { id: string }[]).map(({ id }) => id);

describe("plants", () => {
  test("are listed in pages that neither repeat nor skip", async () => {
    const first = await get("/api/plants?limit=20");
    const rest = await get(`/api/plants?limit=1000&cursor=${first["next"]}`);
    const oaks = Array.from({ length: 30 }, (_, index) => String(39 - index));
    expect([...idsOf(first), ...idsOf(rest)]).toEqual([...oaks, "3", minId, unsafeId]);
    expect(rest).not.toHaveProperty("next");
  });

  test("are listed with every field, the oldest first if asked for", async () => {
    const { plants } = await get("/api/plants?limit=2&order=oldest");
    const createdAt = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/);
    expect(plants).toEqual([
      { id: unsafeId, name: "Árbol de Navidad", tag: "tree", createdAt, createdBy: "preset-access" },
      { id: minId, name: "100% Fern_1", tag: "", createdAt, createdBy: "preset-access" },
    ]);
  });

  // How each engine filters is tested with the stores; this is how the parameters are read.
  test.each<[query: string, ids: string[]]>([
    ["tag=bush&limit=2", ["38", "36"]],
    ["tag=", [minId]],
    ["name=%C3%A1RBOL", [unsafeId]],
    ["name=0%25%20f", [minId]],
    [`id=${unsafeId}`, [unsafeId]],
    ["id=9007199254740992", []],
    ["token=preset-access&tag=tree&limit=1", ["39"]],
    ["since=2100-01-01T00:00:00%2B02:00", []],
  ])("are filtered by %s", async (query, ids) => {
    expect(idsOf(await get(`/api/plants?${query}`))).toEqual(ids);
  });

  test("are read by id", async () => {
    expect(await get(`/api/plants/${unsafeId}`)).toMatchObject({ id: unsafeId, tag: "tree" });
  });

  test("that are not stored are not found", async () => {
    expect(await get("/api/plants/9007199254740992")).toMatchObject({ error: 40402 });
  });
});

test.each([
  ["a limit of 0", "plants?limit=0", 'Parameter "limit" must be a whole number from 1 to 1000, but is "0".'],
  ["a tag with U+0000", "plants?tag=%00", "U+0000"],
  ["a part of a name over 100 characters", `plants?name=${"n".repeat(101)}`, "over 100 characters"],
  ["a time that is none", "plants?since=yesterday", "since"],
  ["an unknown order", "plants?order=random", "newest or oldest"],
  ["an unknown parameter", "plants?colour=green", 'There is no parameter "colour"'],
  ["an unknown parameter, cut within a character", `plants?${"a".repeat(49)}%F0%9F%8C%B1=`, 'aa" here'],
  ["a parameter that is given twice", "plants?tag=a&tag=b", "more than once"],
  ["an id that is none", "plants/x", "id"],
  ["a cursor that no page returned", "plants/count?name=x&cursor=z", "cursor"],
  ["a limit over 1000 of the audit trail", "audit?limit=1001", "limit"],
])("nothing is listed with %s", async (_, path, message) => {
  expect(await get(`/api/${path}`)).toEqual({ error: 40031, message: expect.stringContaining(message) });
});

describe("an export", () => {
  test("is refused in an unknown format", async () => {
    expect(await send("/api/exports", { format: "xml" })).toEqual({
      error: 40031,
      message: expect.stringContaining("format"),
    });
  });

  test.each<[query: string, extension: string, start: string, part: string]>([
    ["", "ndjson", `{"id":${unsafeId},"name":"Árbol de Navidad","tag":"tree","createdAt":"`, '"tag":""'],
    ["format=csv", "csv", "id,name,tag,created_at,created_by\r\n", `\r\n${minId},100% Fern_1,"",20`],
    ["format=csv-safe", "csv", "id,safe_name,safe_tag,", `\r\n${minId},"100% Fern_1","",20`],
    ["format=json", "json", '[\n{"id":', "\n]\n"],
  ])("with ?%s has a file name with the extension %s", async (query, extension, start, part) => {
    const response = await operatorFetch(running, `/api/export?${query}`);
    const fileName = new RegExp(`^attachment; filename="plants-\\d{4}-\\d\\d-\\d\\d.*\\.${extension}"$`);
    expect(response.headers.get("content-disposition")).toMatch(fileName);
    const text = await response.text();
    expect(text).toStartWith(start);
    expect(text).toContain(part);
  });

  test.each(["ndjson", "csv", "csv-safe", "json"])(
    "as %s does not tell its length before",
    async (format) => {
      const { headers } = await operatorFetch(running, `/api/export?format=${format}`, { method: "HEAD" });
      expect(headers.has("content-length")).toBe(false);
    },
  );

  const newLink = async () =>
    running.operatorUrl + (await send("/api/exports", { format: "csv", tag: "bush" }))["url"];

  test("is downloaded without a token by a link, once", async () => {
    const link = await newLink();
    expect((await (await fetch(link)).text()).split("\r\n")).toHaveLength(17);
    expect((await fetch(link)).status).toBe(404);
  });

  test("is still there after a request for the head of its link", async () => {
    const link = await newLink();
    expect((await fetch(link, { method: "HEAD" })).status).toBe(405);
    const response = await fetch(link);
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  });
});

describe("tokens", () => {
  /** The status of a create with nothing in it: 400 if the token is good, and 401 if it is not. */
  const use = async (secret: string) => (await post(running.url, "{}", bearer(secret))).status;

  async function rotate(id: string): Promise<MintedTokenJson> {
    return send<MintedTokenJson>(`/api/tokens/${id}/rotate`, { overlap: "0s" });
  }

  test("are used as soon as they are created", async () => {
    const { secret } = await createToken("new");
    expect(await use(secret)).toBe(400);
  });

  test("are replaced at once by one that is rotated without an overlap", async () => {
    const old = await createToken("rotated");
    const replacement = await rotate(old.token.id);
    expect(await use(old.secret)).toBe(401);
    expect(await use(replacement.secret)).toBe(400);
  });

  test("end at once when they are revoked", async () => {
    const { token, secret } = await createToken("revoked");
    const revoked = await send(`/api/tokens/${token.id}/revoke`);
    expect(revoked["token"]).toMatchObject({ state: "revoked" });
    expect(await use(secret)).toBe(401);
  });

  describe("that were created, rotated and revoked", () => {
    /** A token by this name, and the one that replaced it, which is revoked. */
    async function endedTokens(name: string) {
      const old = await createToken(name, { expiresIn: "90d" });
      const replacement = await rotate(old.token.id);
      await send(`/api/tokens/${replacement.token.id}/revoke`);
      return { old, replacement };
    }

    test("are listed with their state", async () => {
      await endedTokens("listed");
      const listed = (await tokens()).filter(({ name }) => name === "listed");
      expect(listed.map(({ state }) => state)).toEqual(["expired", "revoked"]);
    });

    test("are in the audit trail, with by whom and from where", async () => {
      const { id } = (await endedTokens("audited")).replacement.token;
      const by = { actor: "preset-operator", subject: "audited", address: "127.0.0.1" };
      const created = /^\w{8}: plants:create; expires .*Z$/;
      expect(await audited(3)).toMatchObject([
        { ...by, action: "token.created", detail: expect.stringMatching(created) },
        { ...by, action: "token.rotated", detail: expect.stringContaining(`${id}: plants:create`) },
        { ...by, action: "token.revoked", detail: id, at: expect.stringMatching(/^\d{4}-.*Z$/) },
      ]);
    });

    test("are shown without their secret or its digest", async () => {
      const { old, replacement } = await endedTokens("secret");
      const shown = JSON.stringify([await tokens(), await audited(3)]);
      expect(shown).toContain(replacement.token.id);
      expect(shown).not.toContain("digest");
      expect(shown).not.toContain(old.secret);
      expect(shown).not.toContain(replacement.secret);
    });
  });

  test("that expire before the overlap is over are not prolonged by rotating", async () => {
    const { id, expiresAt } = (await createToken("short", { expiresIn: "10m" })).token;
    expect(await send(`/api/tokens/${id}/rotate`, { overlap: "1d" })).toMatchObject({ oldUntil: expiresAt });
    expect((await tokens()).find((token) => token.id === id)).toMatchObject({ expiresAt });
  });

  describe("with an expiry", () => {
    const createBrief = (name: string) => createToken(name, { scopes: ["operator"], expiresIn: "1h" });

    test("create none that outlives them", async () => {
      const { secret, token } = await createBrief("outlived");
      const latest = `must expire by ${token.expiresAt?.replace(/\.\d+/, "")}`;
      expect(await send("/api/tokens", { name: "a", expiresIn: "2h" }, secret)).toMatchObject({
        error: 40031,
        message: expect.stringContaining(latest),
      });
    });

    test("create one that expires earlier", async () => {
      const { secret } = await createBrief("brief");
      const shorter = await createToken("briefer", { expiresIn: "10m" }, secret);
      expect(shorter.token).toMatchObject({ createdBy: "brief" });
    });

    test("rotate one that never expires into one that expires with them", async () => {
      const { secret, token } = await createBrief("rotates another");
      const lasting = await createToken("lasting");
      expect(lasting.token.expiresAt).toBeUndefined();
      const rotated = await send(`/api/tokens/${lasting.token.id}/rotate`, {}, secret);
      expect(rotated["token"]).toMatchObject({ expiresAt: token.expiresAt, createdBy: "rotates another" });
    });

    test("rotate themselves into one that expires when they do", async () => {
      const { secret, token } = await createBrief("rotates itself");
      const rotated = await send(`/api/tokens/${token.id}/rotate`, {}, secret);
      expect(rotated["token"]).toMatchObject({ expiresAt: token.expiresAt, createdBy: "rotates itself" });
    });
  });

  test.each([
    { what: "a reserved name", body: '{"name":"oidc:someone"}', error: 40031, says: "reserved" },
    { what: "no name", body: "{}", error: 40031, says: '"name" is missing' },
    { what: "an unknown scope", body: '{"name":"a","scopes":["all"]}', error: 40031, says: "scopes" },
    { what: "no scopes", body: '{"name":"a","scopes":[]}', error: 40031, says: "scopes" },
    {
      what: "an expiry that is no duration",
      body: '{"name":"a","expiresIn":"soon"}',
      error: 40031,
      says: '"expiresIn" must be a number with a unit',
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
      path: `tokens/${"a".repeat(49)}%F0%9F%8C%B1/rotate`,
      body: "{}",
      error: 40403,
      says: `No token has the id ${"a".repeat(49)}.`,
    },
  ])("do not change if a request has $what", async ({ what, path = "tokens", body, error, says }) => {
    const { token } = await createToken(`unchanged by ${what}`);
    const before = await tokens();
    const response = await operatorFetch(running, `/api/${path.replace("ID", token.id)}`, {
      method: "POST",
      body,
    });
    expect(await response.json()).toEqual({ error, message: expect.stringContaining(says) });
    expect(await tokens()).toEqual(before);
  });
});

describe("the audit trail", () => {
  /** A token that may read, by a name of its own: the actor of what it does. */
  const createReader = async (name: string) =>
    (await createToken(name, { scopes: ["operator:read"] })).secret;

  test("has a sign-in", async () => {
    const secret = await createReader("signs in");
    const signedIn = await send("/api/sign-in", {}, secret);
    expect(signedIn).toMatchObject({ name: "signs in", publicUrl: running.url });
    expect(signedIn).toEqual(await get("/api/me", secret));
    expect(await audited(1)).toMatchObject([
      { actor: "signs in", address: "127.0.0.1", action: "console.signed-in", detail: "operator:read" },
    ]);
  });

  test("has an export, but no request for its head", async () => {
    const secret = await createReader("exports");
    await operatorFetch(running, "/api/export?tag=bush", { method: "HEAD", token: secret });
    await (await operatorFetch(running, "/api/export?tag=bush", { token: secret })).arrayBuffer();
    expect(await audited(2)).toMatchObject([
      { action: "token.created", subject: "exports" },
      { actor: "exports", address: "127.0.0.1", action: "export.started", detail: 'ndjson, tag "bush"' },
    ]);
  });

  test("has an export through a link once it is downloaded", async () => {
    const before = await audited(1);
    const { url } = await send("/api/exports", { format: "csv" });
    expect(await audited(1)).toEqual(before);
    await (await fetch(running.operatorUrl + url)).arrayBuffer();
    expect(await audited(1)).toMatchObject([
      { actor: "preset-operator", address: "127.0.0.1", action: "export.started", detail: "csv" },
    ]);
  });

  test("quotes the filters of an export", async () => {
    const query = new URLSearchParams({ tag: "x, namePart y", id: "7" });
    await (await operatorFetch(running, `/api/export?${query}`)).text();
    expect(await audited(1)).toMatchObject([{ detail: 'ndjson, id 7, tag "x, namePart y"' }]);
  });

  test("has a read from the beginning, but none of what follows", async () => {
    const secret = await createReader("follows");
    const page = await get("/api/plants?after=0&limit=1&tag=bush", secret);
    await operatorFetch(running, "/api/plants?after=0", { method: "HEAD", token: secret });
    await get(`/api/plants?after=${page["next"]}`, secret);
    await get(`/api/plants?after=${page["newest"]}`, secret);
    await get("/api/plants", secret);
    await get("/api/plants?order=oldest", secret);
    expect(await audited(2)).toMatchObject([
      { action: "token.created", subject: "follows" },
      {
        actor: "follows",
        address: "127.0.0.1",
        action: "follow.started",
        subject: "plants",
        detail: 'tag "bush"',
      },
    ]);
  });

  test("has a read that begins after the cursor of an empty store", async () => {
    await using service = await startTestService();
    const api = apiOf(service);
    const { newest: ofEmpty } = await api.get("/api/plants");
    expect(ofEmpty).toMatch(/^[0-9a-f]{16}\.0\.0$/);
    await post(service.url, '{"id":1,"name":"Fern"}');
    expect(idsOf(await api.get(`/api/plants?after=${ofEmpty}`))).toEqual(["1"]);
    expect(await api.audited(10)).toMatchObject([{ action: "follow.started", detail: "" }]);
  });

  test("does not fill up while a program follows an empty store", async () => {
    await using service = await startTestService();
    const api = apiOf(service);
    let { next } = await api.get("/api/plants?after=0");
    for (let polls = 0; polls < 3; polls++) ({ next } = await api.get(`/api/plants?after=${next}`));
    const { newest } = await api.get("/api/plants");
    await api.get(`/api/plants?after=${newest}`);
    expect(await api.audited(10)).toMatchObject([{ action: "follow.started" }]);
  });

  test("is read in pages", async () => {
    await createToken("older");
    await createToken("newer");
    const { entries, next } = await get("/api/audit?limit=1");
    expect(entries).toMatchObject([{ subject: "newer" }]);
    const second = await get(`/api/audit?limit=1&cursor=${next}`);
    expect(second["entries"]).toMatchObject([{ subject: "older" }]);
  });

  test.each([
    ["action=token.rotated", []],
    ["action=token.created&actor=preset-operator&limit=1", [{ subject: "filtered" }]],
    ["actor=nobody", []],
    ["since=2999-01-01", []],
    ["until=2001-01-01T00:00:00Z", []],
  ])("is filtered by %s", async (query, expected) => {
    await using service = await startTestService();
    const api = apiOf(service);
    await api.createToken("filtered");
    const { entries } = await api.get(`/api/audit?${query}`);
    expect(entries).toMatchObject(expected);
    expect(entries).toHaveLength(expected.length);
  });

  test.each([
    ["action=deleted", 'Parameter "action" must be token.created, token.rotated, '],
    ["since=yesterday", 'Parameter "since" must be a time such as 2026-11-15T09:30:00Z, but is "yesterday".'],
    ["by=ops", 'There is no parameter "by" here; expected limit, cursor, action, actor, since, until.'],
  ])("refuses the filter %s", async (query, message) => {
    const refused = await get(`/api/audit?${query}`);
    expect(refused).toMatchObject({ error: 40031 });
    expect(refused["message"]).toStartWith(message);
  });

  test.each([
    ["a sign-in with an unknown token", () => send("/api/sign-in", {}, "wrong-token-0123456789")],
    ["a sign-in without the scope", () => send("/api/sign-in", {}, accessToken)],
    ["a token with a reserved name", () => send("/api/tokens", { name: "preset" })],
  ])("has no entry for %s", async (_, refused) => {
    const before = await get("/api/audit?limit=1");
    expect(await refused()).toHaveProperty("error");
    expect(await get("/api/audit?limit=1")).toEqual(before);
  });

  // Each with a service of its own: one write that fails makes the store refuse whatever follows.
  test.each([
    ["sign in", "POST", "/api/sign-in"],
    ["export", "GET", "/api/export"],
    ["read from the beginning", "GET", "/api/plants?after=0"],
  ])("that cannot be written lets nobody %s", async (_, method, path) => {
    await using service = await startTestService();
    using database = new Database(service.database);
    database.run("DROP TABLE audit_trail");
    const response = await operatorFetch(service, path, { method });
    expect(await response.json()).toMatchObject({ error: 50001 });
  });
});

describe("nobody gets in", () => {
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
    const all = { scopes: [...scopes] };
    const expired = await createToken("is expired", { ...all, expiresIn: "1s" });
    const replaced = await createToken("is replaced", all);
    await send(`/api/tokens/${replaced.token.id}/rotate`, { overlap: "0s" });
    const revoked = await createToken("is revoked", all);
    await send(`/api/tokens/${revoked.token.id}/revoke`);
    secrets.set("unknown", "wrong-token-0123456789");
    secrets.set("short", "x");
    secrets.set("long", "-".repeat(5000));
    secrets.set("expired", expired.secret);
    secrets.set("replaced", replaced.secret);
    secrets.set("revoked", revoked.secret);
    await eventually(
      async () => (await operatorFetch(running, "/api/me", { token: expired.secret })).status === 401,
      "the expiry",
    );
    for (const scope of scopes) {
      const { secret } = await createToken(`only ${scope}`, { scopes: [scope] });
      secrets.set(scope, secret);
    }
    id = (await createToken("is not changed")).token.id;
  });

  /** What must not change: every plant, and of every token what it allows. */
  const state = async () => ({
    plants: await get("/api/plants?limit=1000"),
    tokens: (await tokens()).map((token) => ({ ...token, lastUsedAt: undefined })),
  });

  // An import needs two scopes; import.test.ts has it.
  const routes = operatorRoutes.filter(
    ({ scope, path }) => scope !== "none" && !path.startsWith("/api/imports"),
  );
  describe.each(routes.map(({ method, path }) => [method, path]))("%s %s", (method, path) => {
    const needed = scopeOf(`${method} ${path}`);
    const target = () => path.replaceAll(/\{\w+\}/g, id);

    /** Sends a request that would do harm, and checks that it did none. Returns how it was refused. */
    async function attack(token: string | null) {
      const before = await state();
      const response = await operatorFetch(running, target(), {
        method,
        token,
        ...(method !== "GET" && { body: harmful[path] ?? "{}" }),
      });
      await response.body?.cancel();
      expect(await state()).toEqual(before);
      return { status: response.status, challenge: response.headers.get("www-authenticate") };
    }

    test.each(scopes.filter((scope) => !holders[needed].includes(scope)))(
      `with the scope %s alone, but needs ${needed}`,
      async (scope) => {
        const challenge = `${realm}, error="insufficient_scope", scope="${needed}"`;
        expect(await attack(secretOf(scope))).toEqual({ status: 403, challenge });
      },
    );

    test.each(["unknown", "short", "long", "expired", "replaced", "revoked"])(
      "with a token that is %s",
      async (kind) => {
        const challenge = `${realm}, error="invalid_token"`;
        expect(await attack(secretOf(kind))).toEqual({ status: 401, challenge });
      },
    );

    test("without a token", async () => {
      expect(await attack(null)).toEqual({ status: 401, challenge: realm });
    });

    if (method === "GET")
      test.each(holders[needed])("unless with the scope %s", async (scope) => {
        const response = await operatorFetch(running, target(), { token: secretOf(scope) });
        await response.body?.cancel();
        expect(response.headers.get("www-authenticate")).toBeNull();
      });
  });
});

describe("a request to the operator listener", () => {
  async function respond(service: TestService, host: string): Promise<string> {
    const port = Number(new URL(service.operatorUrl).port);
    return (await sendRaw(port, [`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`])).text;
  }

  test("is served for the listener's own address", async () => {
    const { host } = new URL(running.operatorUrl);
    expect(await respond(running, host)).toStartWith("HTTP/1.1 200 ");
  });

  test.each(["localhost", "[::1]:1", "plants-1.Garden.localhost:3001"])(
    "is served for the name %s",
    async (host) => {
      expect(await respond(running, host)).toStartWith("HTTP/1.1 200 ");
    },
  );

  test.each([
    "evil.example",
    "localhost.evil.example",
    "evil.example%00.localhost",
    "evil.example%2f.localhost",
    "evil.example,.localhost",
    "evil_example.localhost",
    ".localhost",
    "127.0.0.1:99999",
  ])("is refused for the name %s, which another site could have made point here", async (host) => {
    const text = await respond(running, host);
    expect(text).toStartWith("HTTP/1.1 421 ");
    expect(text).toContain('{"error":42101,');
  });

  describe("with --operator-hosts", () => {
    let named: TestService;
    beforeAll(async () => {
      named = await startTestService({ "operator-hosts": "plants.example.org, Garden.example" });
    });
    afterAll(() => named[Symbol.asyncDispose]());

    test.each(["plants.example.org", "GARDEN.example:8443", "localhost"])(
      "is served for the name %s",
      async (host) => {
        expect(await respond(named, host)).toStartWith("HTTP/1.1 200 ");
      },
    );

    test.each(["evil.plants.example.org", "example.org"])("is refused for the name %s", async (host) => {
      const text = await respond(named, host);
      expect(text).toStartWith("HTTP/1.1 421 ");
      expect(text).toContain('{"error":42101,');
    });
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

describe.each(["/nowhere", "/api/nowhere", "/assets/no.js"])("at the unknown path %s", (path) => {
  test("a browser gets the console with 404", async () => {
    const page = await (await fetch(running.operatorUrl)).text();
    const response = await fetchAs(browser, path);
    expect(response.status).toBe(404);
    expect(await response.text()).toBe(page);
    expect(response.headers.get("vary")).toBe("Accept, Accept-Encoding");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  test("a browser gets the head of the console", async () => {
    const { status, headers } = await fetchAs(browser, path, "HEAD");
    expect(status).toBe(404);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  });

  test("everyone else gets the Error body", async () => {
    expect(await (await fetchAs("*/*", path)).json()).toMatchObject({ error: 40401 });
  });
});

test("a browser that posts to an unknown path gets the Error body", async () => {
  expect(await (await fetchAs(browser, "/nowhere", "POST")).json()).toMatchObject({ error: 40401 });
});

test("a browser that uses an unknown method gets the Error body", async () => {
  expect(await (await fetchAs(browser, "/api/plants", "DELETE")).json()).toMatchObject({ error: 40501 });
});

/** What a browser accepts when it opens a page. */
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

function fetchAs(accept: string, path: string, method = "GET"): Promise<Response> {
  return fetch(running.operatorUrl + path, { method, headers: { Accept: accept } });
}
