// The contract, seen from outside: what POST /plants answers, and what it refuses. The tests share one service for each engine,
// so each of them creates its plants under ids of its own.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { catalogue, publicKinds } from "../../src/http/error-catalogue.ts";
import openapi from "../../src/public/openapi.json" with { type: "json" };
import { onEveryEngine } from "../support/engines.ts";
import { eventually } from "../support/eventually.ts";
import { errorIn, post } from "../support/post-plants.ts";
import { rawPost, sendRaw } from "../support/raw-http.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { accessToken, bearer, operatorToken } from "../support/tokens.ts";

let lastId = 1000;

/** An id that no other test uses. */
function newId(): number {
  lastId++;
  return lastId;
}

onEveryEngine((engine) => {
  let service: TestService;
  beforeAll(async () => {
    service = await engine.start();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  async function storedWith(id: number) {
    const plants = await engine.stored(service.database);
    return plants.filter((plant) => plant.id === BigInt(id));
  }

  describe("a new plant", () => {
    test("is answered with its name and tag, and stored with its time and creator", async () => {
      const id = newId();
      const beforeMs = Date.now();
      const response = await post(service.url, `{"id":${id},"name":"Fern","tag":"indoor"}`);
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.has("idempotent-replayed")).toBe(false);
      expect(await response.text()).toBe('{"name":"Fern","tag":"indoor"}');
      expectCommonHeaders(response);
      const [plant] = await storedWith(id);
      expect(plant).toMatchObject({ name: "Fern", tag: "indoor", created_by: "preset-access" });
      expect(Number(plant?.created_at_ms)).toBeWithin(beforeMs, Date.now() + 1);
    });

    test.each([
      ["a tag if it has none", '"name":""', '{"name":""}'],
      ["the members that the contract does not name", '"name":"Fern","other":1', '{"name":"Fern"}'],
    ])("is answered without %s", async (_, members, answer) => {
      const response = await post(service.url, `{"id":${newId()},${members}}`);
      expect(await response.text()).toBe(answer);
    });
  });

  describe("a plant that is sent again", () => {
    test("in other words gets the same answer, marked as a replay, and is stored once", async () => {
      const id = newId();
      await post(service.url, `{"id":${id},"name":"Oak","tag":"tree"}`);
      const response = await post(service.url, `{"tag":"tree", "name":"\\u004fak", "id":${id}0e-1}`);
      expect(response.status).toBe(200);
      expect(await response.text()).toBe('{"name":"Oak","tag":"tree"}');
      expect(response.headers.get("idempotent-replayed")).toBe("true");
      expect(await storedWith(id)).toHaveLength(1);
    });

    test("a hundred times at once is created by one request and replayed by the others", async () => {
      const id = newId();
      const copies = Array.from({ length: 100 }, () => post(service.url, `{"id":${id},"name":"Fern"}`));
      const responses = await Promise.all(copies);
      const statuses = new Set(responses.map(({ status }) => status));
      const replays = responses.filter(({ headers }) => headers.get("idempotent-replayed") === "true");
      expect([...statuses]).toEqual([200]);
      expect(replays).toHaveLength(99);
      expect(await storedWith(id)).toHaveLength(1);
    });
  });

  test.each([
    ["a different name", { name: "Secret guess", tag: "tree" }],
    ["a different tag", { name: "Oak" }],
    ["a different tag", { name: "Oak", tag: "" }],
    ["a different name and a different tag", { name: "Elm", tag: "bush" }],
  ])(
    "a plant with the id of an oak is refused for %s, and changes nothing: %j",
    async (difference, different) => {
      const id = newId();
      await post(service.url, JSON.stringify({ id, name: "Oak", tag: "tree" }));
      const response = await post(service.url, JSON.stringify({ id, ...different }));
      const text = await response.text();
      expect(response.status).toBe(400);
      expect(JSON.parse(text).error).toBe(40020);
      expect(JSON.parse(text).message).toContain(`${difference}.`);
      // What is stored is not for whoever guesses ids.
      expect(text).not.toMatch(/Oak|tree/);
      const stored = await storedWith(id);
      expect(stored).toHaveLength(1);
      expect(stored[0]).toMatchObject({ name: "Oak", tag: "tree" });
    },
  );
});

// What follows does not depend on the engine.
const sqliteService = await startTestService();
afterAll(() => sqliteService[Symbol.asyncDispose]());

const json = { "Content-Type": "application/json" };
const validHeaders = { ...json, ...bearer(accessToken) };
const withMediaType = (type: string) => ({ ...validHeaders, "Content-Type": type });
const challenge = (rest: string) => ({ "WWW-Authenticate": `Bearer realm="plant-store"${rest}` });
const allow = (methods: string) => ({ Allow: methods });

/** A request, and the error that it gets. */
interface RefusedRequest {
  readonly what: string;
  readonly error: number;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** A part of the message. */
  readonly says?: string;
  /** Headers of the response. */
  readonly has?: Record<string, string>;
}

// Every error that a single request can cause.
const refusals: RefusedRequest[] = [
  { what: "an empty body", error: 40001, body: "" },
  { what: "invalid JSON", error: 40002, body: '{"name": }', says: "line 1, column 10" },
  { what: "a byte order mark", error: 40003, body: '\ufeff{"id":1,"name":"a"}', says: "byte order mark" },
  { what: "an unpaired surrogate", error: 40003, body: '{"id":1,"name":"\\ud800"}', says: "surrogate" },
  { what: "an array", error: 40004, body: "[]" },
  { what: "a duplicate name", error: 40005, body: '{"id":1,"name":"a","\\u0069d":1}', says: '"id"' },
  { what: "a missing field", error: 40010, body: '{"id":1}', says: '"name" is missing' },
  { what: "a null tag", error: 40011, body: '{"id":1,"name":"a","tag":null}', says: "must be a string" },
  { what: "an id in quotes", error: 40011, body: '{"id":"7","name":"a"}', says: 'the string "7"' },
  { what: "a fraction", error: 40012, body: '{"id":1.0000000000000000001,"name":"a"}', says: "0000000001" },
  { what: "an id beyond int64", error: 40012, body: '{"id":9223372036854775808,"name":"a"}' },
  { what: "U+0000", error: 40013, body: '{"id":1,"name":"\\u0000"}', says: "U+0000" },
  { what: "no credentials", error: 40101, headers: json, has: challenge("") },
  {
    what: "an unknown token",
    error: 40102,
    headers: { ...json, ...bearer("nobody-knows-this-token") },
    has: challenge(', error="invalid_token"'),
  },
  {
    what: "a token without the scope",
    error: 40301,
    headers: { ...json, ...bearer(operatorToken) },
    has: challenge(', error="insufficient_scope", scope="plants:create"'),
  },
  { what: "an unknown path", error: 40401, path: "/plant" },
  { what: "a long path", error: 40401, path: `/${"p".repeat(100)}`, says: `nothing at /${"p".repeat(98)}….` },
  { what: "the metrics, which are an operator's", error: 40401, method: "GET", path: "/metrics" },
  { what: "GET", error: 40501, method: "GET", has: allow("POST") },
  { what: "a method like an object's property", error: 40501, method: "constructor", has: allow("POST") },
  { what: "POST to a page", error: 40501, path: "/docs", has: allow("GET, HEAD") },
  { what: "a large body", error: 41301, body: " ".repeat(65_537) },
  { what: "no media type", error: 41501, headers: withMediaType("") },
  { what: "text", error: 41501, headers: withMediaType("text/plain") },
  { what: "another charset", error: 41501, headers: withMediaType("application/json; charset=latin1") },
  { what: "a compressed body", error: 41502, headers: { ...validHeaders, "Content-Encoding": "gzip" } },
];

/** Sends the request of that row: a POST of a valid plant, except for what the row says. */
function send({
  method = "POST",
  path = "/plants",
  headers = validHeaders,
  body,
}: RefusedRequest): Promise<Response> {
  const sent = body ?? '{"id":1,"name":"a"}';
  return fetch(sqliteService.url + path, { method, headers, ...(method === "POST" && { body: sent }) });
}

const documented: Readonly<Record<string, { readonly headers: object }>> =
  openapi.paths["/plants"].post.responses;

test.each(refusals)("a request is refused, and stores nothing, for $what", async (refusal) => {
  const before = storedPlants(sqliteService.database);
  const response = await send(refusal);
  const text = await response.text();
  const body = JSON.parse(text);
  expect(response.status).toBe(Math.floor(refusal.error / 100));
  expect(Object.keys(body)).toEqual(["error", "message"]);
  expect(body.error).toBe(refusal.error);
  expect(body.message).toContain(refusal.says ?? "");
  expect(storedPlants(sqliteService.database)).toEqual(before);

  // What the documents promise of the headers.
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(Object.fromEntries(response.headers)).toMatchObject(lowerCaseNames(refusal.has ?? {}));
  const promised = Object.keys(documented[response.status]?.headers ?? {});
  expect(promised.filter((name) => !response.headers.has(name))).toEqual([]);
  expectCommonHeaders(response);

  // No SQL, no stack and no token.
  expect(text).not.toMatch(/select|insert|sqlite|postgres/i);
  expect(text).not.toMatch(/\bat \w+ \(|\.ts\b/i);
  expect(text).not.toContain(accessToken);
});

describe("a message that the documents give as an example is one that a request gets", () => {
  // These need a slow client, a rate limit, a fault, or a store or provider that fails: other tests cause them.
  const statusesElsewhere = [408, 429, 500, 503];
  const kinds = publicKinds.filter(
    (kind) => !statusesElsewhere.includes(Math.floor(catalogue[kind].error / 100)),
  );

  const rawMessage = async (headers: string) => {
    const { text } = await sendRaw(sqliteService.port, [`GET / HTTP/1.1\r\n${headers}\r\n`]);
    return JSON.parse(bodyOf(text)).message;
  };
  // Those that no single request can cause, or fetch cannot send.
  const otherMessages: Record<number, () => Promise<string>> = {
    // The example is about this id.
    40020: async () => {
      await post(sqliteService.url, '{"id":7,"name":"Fern"}');
      return (await errorIn(await post(sqliteService.url, '{"id":7,"name":"Oak"}'))).message;
    },
    40030: () => rawMessage(""),
    41701: () => rawMessage("Host: h\r\nExpect: 200-ok\r\n"),
    43101: () => rawMessage(`Host: h\r\nX: ${"x".repeat(16_384)}\r\n`),
  };

  test.each(kinds)("of %s", async (kind) => {
    const { error, example } = catalogue[kind];
    const sent = refusals.filter((refusal) => refusal.error === error);
    const messages = await Promise.all(
      sent.map(async (refusal) => (await errorIn(await send(refusal))).message),
    );
    const other = await otherMessages[error]?.();
    if (messages.length === 0 && other === undefined)
      throw new Error(`no row of \`refusals\` or \`otherMessages\` causes ${error}`);
    expect([...messages, other]).toContain(example);
  });
});

test("a message sends no control character back to a terminal", async () => {
  const response = await post(sqliteService.url, '{"id":"\u009b31m","name":"a"}');
  const text = await response.text();
  expect(text).toMatch(/^\P{Cc}+$/u);
  expect(JSON.parse(text).message).toContain("\u009b31m");
});

test.each([
  ["Content-Type", "Application/JSON"],
  ["Content-Type", 'application/json;charset="utf-8"; v=1'],
  ["Content-Type", "application/json;"],
  ["Content-Type", 'application/json; x="a;b"; charset=UTF-8'],
  ["Authorization", `bEARER  ${accessToken}`],
])("a plant is accepted with the header %s: %s", async (name, value) => {
  const response = await post(sqliteService.url, `{"id":${newId()},"name":"a"}`, { [name]: value });
  expect(response.status).toBe(200);
});

describe("the request id of a response", () => {
  test("is the client's if that is short and printable", async () => {
    const response = await post(sqliteService.url, "{}", { "X-Request-Id": "my-request-1" });
    expect(response.headers.get("x-request-id")).toBe("my-request-1");
  });

  test.each(["x".repeat(65), "has space", "é"])("is a new one if the client's is %j", async (sent) => {
    const request = Buffer.from(rawPost("{}", `X-Request-Id: ${sent}\r\n`), "latin1");
    const { text } = await sendRaw(sqliteService.port, [request]);
    expect(/X-Request-Id: (.*)\r/.exec(text)?.[1]).toMatch(/^[0-9a-f]{16}-[0-9a-z]+$/);
  });
});

describe("the address itself", () => {
  const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
  const open = (method: string, path: string, accept: string) =>
    fetch(sqliteService.url + path, { method, headers: { Accept: accept }, redirect: "manual" });

  test.each([
    ["GET", browser],
    ["GET", "application/json, TEXT/HTML;q=0.5"],
    ["HEAD", browser],
  ])("redirects a browser to the docs: %s with Accept: %s", async (method, accept) => {
    const response = await open(method, "/", accept);
    expect(response.status).toBe(303);
    expect(response.headers.get("location")).toBe("/docs");
  });

  test.each([
    ["GET", "/", "*/*"],
    ["GET", "/", "application/json"],
    ["GET", "/", "text/htmlx"],
    ["GET", "/", ""],
    ["POST", "/", browser],
    ["GET", "/elsewhere", browser],
  ])("redirects no one else: %s %s with Accept: %s", async (method, path, accept) => {
    const response = await open(method, path, accept);
    expect(response.status).toBe(404);
    expect(response.headers.has("location")).toBe(false);
  });
});

test("HEAD gets the headers of GET without the body", async () => {
  const { text } = await sendRaw(sqliteService.port, ["HEAD /livez HTTP/1.1\r\nHost: h\r\n\r\n"]);
  expect(text).toStartWith("HTTP/1.1 200 OK\r\n");
  expect(text).toContain("Content-Length: 17");
  expect(bodyOf(text)).toBe("");
});

test("while the queue is full, plants are refused with 50301, and those in it are stored", async () => {
  await using busy = await startTestService({ "max-pending": "4" });
  using lock = new Database(busy.database);
  lock.run("BEGIN IMMEDIATE");
  const sent = Array.from({ length: 64 }, (_, id) => post(busy.url, `{"id":${id},"name":"a"}`));
  await eventually(() => busy.logged.filter((line) => line.includes("50301")).length >= 20);
  lock.run("ROLLBACK");
  const responses = await Promise.all(sent);

  const refused = responses.filter(({ status }) => status !== 200);
  const errors = await Promise.all(refused.map(async (response) => (await errorIn(response)).error));
  expect(errors.length).toBeGreaterThanOrEqual(20);
  expect([...new Set(errors)]).toEqual([50301]);
  expect(refused[0]?.status).toBe(503);
  expect(refused[0]?.headers.get("retry-after")).toBe("1");

  const acknowledged = responses.flatMap(({ status }, id) => (status === 200 ? [BigInt(id)] : []));
  expect(acknowledged.length).toBeGreaterThanOrEqual(4);
  expect(storedPlants(busy.database).map(({ id }) => id)).toEqual(acknowledged);
});

test("with a base path, everything is under it and nothing outside it", async () => {
  await using moved = await startTestService({ "base-url": "https://plants.example.org/garden/v1" });
  const local = `http://${moved.addresses[0]}`;
  const created = await post(`${local}/garden/v1`, `{"id":${newId()},"name":"a"}`);
  expect(created.status).toBe(200);

  const headers = { Accept: "text/html" };
  const redirected = await fetch(`${local}/garden/v1/`, { headers, redirect: "manual" });
  expect(redirected.status).toBe(303);
  expect(redirected.headers.get("location")).toBe("/garden/v1/docs");

  expect(await errorIn(await fetch(`${local}/`))).toEqual({
    error: 40401,
    message: "There is nothing at /. The only operation is POST /garden/v1/plants; see /garden/v1/docs.",
  });
});

/** Every response has these, whatever it says. */
function expectCommonHeaders({ headers }: Response): void {
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("x-request-id")).toMatch(/^[\x21-\x7e]{1,64}$/);
  expect(headers.get("date")).toMatch(/GMT$/);
  expect(headers.has("server")).toBe(false);
}

/** What follows the head of a response. */
function bodyOf(text: string): string {
  return text.slice(text.indexOf("\r\n\r\n") + 4);
}

function lowerCaseNames(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
