import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { onEveryEngine } from "./engines.ts";
import { accessToken, operatorToken, post, rawPost, sendRaw, type TestService } from "./harness.ts";

const json = { "Content-Type": "application/json" };
const good = { ...json, Authorization: `Bearer ${accessToken}` };

interface Scenario {
  readonly what: string;
  readonly error: number;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly says?: string;
  readonly has?: Record<string, string>;
}

const authenticate = (rest: string) => ({ "WWW-Authenticate": `Bearer realm="plant-store"${rest}` });
const as = (authorization: string) => ({ ...json, Authorization: authorization });
const typed = (type: string) => ({ ...good, "Content-Type": type });
const allowed = (methods: string) => ({ Allow: methods });

// Every error that a single request can cause. The parser's unit tests cover the messages, test/openapi.test.ts the examples.
const scenarios: Scenario[] = [
  { what: "an empty body", error: 40001, body: "", says: "The body is empty" },
  { what: "invalid JSON", error: 40002, body: '{"id":', says: "line 1, column 7" },
  { what: "invalid UTF-8", error: 40003, body: Uint8Array.of(0x7b, 0xff), says: "not UTF-8" },
  { what: "a byte order mark", error: 40003, body: '\ufeff{"id":1,"name":"a"}', says: "byte order mark" },
  { what: "an unpaired surrogate", error: 40003, body: '{"id":1,"name":"\\ud800"}', says: "surrogate" },
  { what: "an array", error: 40004, body: "[]", says: "an array" },
  { what: "a duplicate name", error: 40005, body: '{"id":1,"name":"a","n\\u0061me":"b"}', says: '"name"' },
  { what: "missing fields", error: 40010, body: "{}", says: '"id" is missing' },
  {
    what: "a null tag",
    error: 40011,
    body: '{"id":1,"name":"a","tag":null}',
    says: '"tag" must be a string',
  },
  { what: "an id in quotes", error: 40011, body: '{"id":"1","name":"a"}', says: 'the string "1"' },
  { what: "several faults", error: 40011, body: '{"id":"x","tag":1}', says: '"name" is missing' },
  { what: "a fraction", error: 40012, body: '{"id":1.0000000000000000001,"name":"a"}', says: "0000000001" },
  { what: "an id beyond int64", error: 40012, body: '{"id":9223372036854775808,"name":"a"}' },
  { what: "U+0000", error: 40013, body: '{"id":1,"name":"\\u0000"}', says: "U+0000" },
  { what: "no credentials", error: 40101, headers: json, has: authenticate("") },
  { what: "another scheme", error: 40101, headers: as("Basic eDp5"), has: authenticate("") },
  {
    what: "an unknown token",
    error: 40102,
    headers: as("Bearer nobody-knows-this-token"),
    has: authenticate(', error="invalid_token"'),
  },
  {
    what: "a token without the scope",
    error: 40301,
    headers: as(`Bearer ${operatorToken}`),
    says: "plants:create",
    has: authenticate(', error="insufficient_scope", scope="plants:create"'),
  },
  { what: "an unknown path", error: 40401, path: "/plant", says: "POST /plants" },
  { what: "a trailing slash", error: 40401, path: "/plants/" },
  { what: "GET", error: 40501, method: "GET", has: allowed("POST") },
  {
    what: "a method named like an object's property",
    error: 40501,
    method: "constructor",
    has: allowed("POST"),
  },
  { what: "POST to a page", error: 40501, path: "/docs", has: allowed("GET, HEAD") },
  { what: "a large body", error: 41301, body: `{"id":1,"name":"${"x".repeat(65536)}"}`, says: "65536 bytes" },
  { what: "no media type", error: 41501, headers: typed("") },
  { what: "text", error: 41501, headers: typed("text/plain"), says: "text/plain" },
  { what: "another charset", error: 41501, headers: typed("application/json; charset=latin1") },
  { what: "a compressed body", error: 41502, headers: { ...good, "Content-Encoding": "gzip" } },
];

onEveryEngine((engine) => {
  let running: TestService;
  beforeAll(async () => {
    running = await engine.start();
  });
  afterAll(() => running[Symbol.asyncDispose]());

  describe("a request is refused", () => {
    test.each(scenarios.map((scenario) => [scenario.what, scenario] as const))(
      "for %s",
      async (_, scenario) => {
        const {
          method = "POST",
          path = "/plants",
          headers = good,
          body = '{"id":1,"name":"a"}',
          error,
        } = scenario;
        const request = { method, headers, ...(method === "POST" && { body }) };
        const response = await fetch(running.url + path, request);
        const text = await response.text();
        expect(response.status).toBe(Math.floor(error / 100));
        expect(response.headers.get("content-type")).toBe("application/json");
        const answer = JSON.parse(text) as Record<string, unknown>;
        expect(Object.keys(answer)).toEqual(["error", "message"]);
        expect(answer["error"]).toBe(error);
        expect(answer["message"]).toContain(scenario.says ?? "");
        for (const [name, value] of Object.entries(scenario.has ?? {}))
          expect(response.headers.get(name)).toBe(value);
        expectCommonHeaders(response);
        expect(text).not.toMatch(/select|insert|sqlite|postgres|\bat \w+ \(|\.ts\b/i);
        expect(text).not.toContain(accessToken);
      },
    );

    test("and no control character of it is sent back to a terminal", async () => {
      const response = await post(running.url, '{"id":"\u009b31m","name":"a"}');
      const text = await response.text();
      expect(text).toMatch(/^\P{Cc}+$/u);
      expect(JSON.parse(text).message).toContain("\u009b31m");
    });

    test("and nothing of it is stored", async () => {
      expect(await engine.stored(running.database)).toEqual([]);
    });
  });

  describe("a plant is created", () => {
    test("and its name and tag are returned, never the id", async () => {
      const response = await post(running.url, '{"id":100,"name":"Fern","tag":"indoor","other":1}');
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.has("idempotent-replayed")).toBe(false);
      expect(await response.text()).toBe('{"name":"Fern","tag":"indoor"}');
      expectCommonHeaders(response);
    });

    test("without a tag, and none is returned", async () => {
      expect(await (await post(running.url, '{"id":101,"name":""}')).text()).toBe('{"name":""}');
    });

    test("with its time and sender", async () => {
      const plant = (await engine.stored(running.database)).find(({ id }) => id === 100n);
      expect(plant).toMatchObject({ name: "Fern", tag: "indoor", created_by: "preset-access" });
      expect(Math.abs(Date.now() - Number(plant?.created_at_ms))).toBeLessThan(60_000);
    });

    test.each([
      ["Content-Type", "Application/JSON"],
      ["Content-Type", "application/json; charset=UTF-8"],
      ["Content-Type", 'application/json;charset="utf-8"; v=1'],
      ["Content-Type", "application/json;"],
      ["Content-Type", 'application/json; x="a;b"; charset=utf-8'],
      ["Authorization", `bEARER  ${accessToken}`],
    ])("with the header %s: %s", async (name, value) => {
      expect((await post(running.url, '{"id":102,"name":"a"}', { [name]: value })).status).toBe(200);
    });

    test("whatever the query string", async () => {
      const response = await fetch(`${running.url}/plants?id=9`, {
        method: "POST",
        headers: good,
        body: '{"id":102,"name":"a"}',
      });
      expect(response.status).toBe(200);
    });
  });

  describe("a plant sent again", () => {
    test("gets the same response, marked as a replay, and is stored once", async () => {
      await post(running.url, '{"id":200,"name":"Oak","tag":"tree"}');
      const again = await post(running.url, '{"tag":"tree", "name":"\\u004fak", "id":2e2}');
      expect(again.status).toBe(200);
      expect(again.headers.get("idempotent-replayed")).toBe("true");
      expect(await again.text()).toBe('{"name":"Oak","tag":"tree"}');
      expect((await engine.stored(running.database)).filter(({ id }) => id === 200n)).toHaveLength(1);
    });

    test.each([
      ['{"id":200,"name":"Secret guess","tag":"tree"}', "a different name."],
      ['{"id":200,"name":"Oak"}', "a different tag."],
      ['{"id":200,"name":"Oak","tag":""}', "a different tag."],
      ['{"id":200,"name":"Elm","tag":"bush"}', "a different name and a different tag."],
    ])("as %s is refused, naming %s", async (body, says) => {
      const response = await post(running.url, body);
      const text = await response.text();
      expect([response.status, JSON.parse(text).error]).toEqual([400, 40020]);
      expect(text).toContain(says);
      expect(text).not.toMatch(/Oak|tree/);
      const stored = (await engine.stored(running.database)).find(({ id }) => id === 200n);
      expect(stored).toMatchObject({ name: "Oak", tag: "tree" });
    });
  });

  describe("the request id", () => {
    test("is the client's if it is short and printable", async () => {
      const response = await post(running.url, "{}", { "X-Request-Id": "my-request-1" });
      expect(response.headers.get("x-request-id")).toBe("my-request-1");
    });

    test.each(["x".repeat(65), "has space", "é"])("is a new one for %j", async (sent) => {
      const request = Buffer.from(rawPost("{}", `X-Request-Id: ${sent}\r\n`), "latin1");
      const { text } = await sendRaw(running.port, [request]);
      expect(/X-Request-Id: (.*)\r/.exec(text)?.[1]).toMatch(/^[0-9a-f]{16}-[0-9a-z]+$/);
    });
  });

  describe("the other paths", () => {
    test("redirect a browser that opens the address to the docs, and no one else", async () => {
      const ask = async (accept: string, method = "GET", path = "/") => {
        const response = await fetch(running.url + path, {
          method,
          headers: { Accept: accept },
          redirect: "manual",
        });
        const { error } = ((await response.json().catch(() => ({}))) ?? {}) as { error?: number };
        return [response.status, response.headers.get("Location") ?? error];
      };
      const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
      expect(await ask(browser)).toEqual([303, "/docs"]);
      expect(await ask("application/json, TEXT/HTML;q=0.5")).toEqual([303, "/docs"]);
      expect(await ask(browser, "HEAD")).toEqual([303, "/docs"]);
      for (const accept of ["*/*", "application/json", "text/html;q=0", "text/htmlx", ""])
        expect([accept, ...(await ask(accept))]).toEqual([accept, 404, 40401]);
      expect(await ask(browser, "POST")).toEqual([404, 40401]);
      expect(await ask(browser, "GET", "/elsewhere")).toEqual([404, 40401]);
    });

    test("livez and readyz", async () => {
      for (const path of ["/livez", "/readyz"]) expect((await fetch(running.url + path)).status).toBe(200);
    });

    test("HEAD gets the headers of GET, without the body", async () => {
      const { text } = await sendRaw(running.port, [
        "HEAD /livez HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
      ]);
      expect(text).toContain("HTTP/1.1 200 OK");
      expect(text).toContain("Content-Length: 17");
      expect(text.endsWith("\r\n\r\n")).toBe(true);
    });
  });

  test("a rate limit applies to each token, and says how long to wait", async () => {
    await using limited = await engine.start({ "rate-limit": "3/m" });
    const statuses = [];
    for (let id = 0; id < 4; id++) statuses.push(await post(limited.url, `{"id":${id},"name":"a"}`));
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(Number(statuses[3]?.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(await statuses[3]?.json()).toMatchObject({ error: 42901 });
    // The operator's token has its own bucket: it fails because of its scope, not the rate.
    expect((await post(limited.url, "{}", { Authorization: `Bearer ${operatorToken}` })).status).toBe(403);
  });

  test("with a base path, routes exist under it and nowhere else", async () => {
    const url = "https://plants.example.org/garden/v1";
    await using moved = await engine.start({ "base-url": url });
    const local = `http://${moved.service.addresses[0]}`;
    expect((await post(`${local}/garden/v1`, '{"id":1,"name":"a"}')).status).toBe(200);
    expect((await fetch(`${local}/garden/v1/docs`)).status).toBe(200);
    for (const path of ["/garden/v1", "/garden/v1/"]) {
      const headers = { Accept: "text/html" };
      const opened = await fetch(local + path, { headers, redirect: "manual" });
      expect([opened.status, opened.headers.get("Location")]).toEqual([303, "/garden/v1/docs"]);
    }
    expect(await fetch(`${local}/`).then((response) => response.json())).toEqual({
      error: 40401,
      message: "There is nothing at /. The only operation is POST /garden/v1/plants; see /garden/v1/docs.",
    });
    expect((await post(local, '{"id":1,"name":"a"}')).status).toBe(404);
    const description = await fetch(`${local}/garden/v1/openapi.json`).then((response) => response.json());
    expect(description).toMatchObject({ servers: [{ url }] });
  });
});

function expectCommonHeaders(response: Response): void {
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(response.headers.get("x-request-id")).toMatch(/^[\x21-\x7e]{1,64}$/);
  expect(response.headers.get("date")).toMatch(/GMT$/);
  expect(response.headers.has("server")).toBe(false);
}
