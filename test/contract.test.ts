import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { onEveryEngine } from "./engines.ts";
import { accessToken, operatorToken, post, rawPost, sendRaw, type TestService } from "./harness.ts";

const json = { "Content-Type": "application/json" };
const good = { ...json, Authorization: `Bearer ${accessToken}` };

interface Scenario {
  readonly what: string;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly error: number;
  readonly says?: string;
  readonly has?: Record<string, string>;
}

const authenticate = (rest: string) => ({ "WWW-Authenticate": `Bearer realm="plant-store"${rest}` });

// Every error that a single request can cause. The parser's unit tests cover the messages.
const scenarios: Scenario[] = [
  { what: "an empty body", body: "", error: 40001, says: "The body is empty" },
  { what: "invalid JSON", body: '{"id":', error: 40002, says: "line 1, column 7" },
  { what: "invalid UTF-8", body: Uint8Array.of(0x7b, 0xff), error: 40003, says: "byte 2 " },
  { what: "a byte order mark", body: '\ufeff{"id":1,"name":"a"}', error: 40003, says: "byte order mark" },
  { what: "an unpaired surrogate", body: '{"id":1,"name":"\\ud800"}', error: 40003, says: "surrogate" },
  { what: "an array", body: "[]", error: 40004, says: "an array" },
  { what: "a duplicate name", body: '{"id":1,"name":"a","n\\u0061me":"b"}', error: 40005, says: '"name"' },
  { what: "missing fields", body: "{}", error: 40010, says: '"id" is missing' },
  {
    what: "a null tag",
    body: '{"id":1,"name":"a","tag":null}',
    error: 40011,
    says: '"tag" must be a string, but is null',
  },
  { what: "an id in quotes", body: '{"id":"1","name":"a"}', error: 40011, says: 'the string "1"' },
  {
    what: "a fraction",
    body: '{"id":1.0000000000000000001,"name":"a"}',
    error: 40012,
    says: "1.0000000000000000001",
  },
  { what: "an id beyond int64", body: '{"id":9223372036854775808,"name":"a"}', error: 40012 },
  { what: "U+0000", body: '{"id":1,"name":"\\u0000"}', error: 40013, says: "U+0000" },
  { what: "several faults", body: '{"id":"x","tag":1}', error: 40011, says: '"name" is missing' },
  { what: "no credentials", headers: json, error: 40101, has: authenticate("") },
  {
    what: "another scheme",
    headers: { ...json, Authorization: "Basic eDp5" },
    error: 40101,
    has: authenticate(""),
  },
  {
    what: "an unknown token",
    headers: { ...json, Authorization: "Bearer nobody-knows-this-token" },
    error: 40102,
    has: authenticate(', error="invalid_token"'),
  },
  {
    what: "a token without the scope",
    headers: { ...json, Authorization: `Bearer ${operatorToken}` },
    error: 40301,
    says: "plants:create",
    has: authenticate(', error="insufficient_scope", scope="plants:create"'),
  },
  { what: "an unknown path", path: "/plant", error: 40401, says: "POST /plants" },
  { what: "a trailing slash", path: "/plants/", error: 40401 },
  { what: "GET", method: "GET", error: 40501, has: { Allow: "POST" } },
  { what: "DELETE", method: "DELETE", error: 40501, has: { Allow: "POST" } },
  {
    what: "a method named like an object's property",
    method: "constructor",
    error: 40501,
    has: { Allow: "POST" },
  },
  { what: "POST to a page", path: "/docs", error: 40501, has: { Allow: "GET, HEAD" } },
  {
    what: "a body over the limit",
    body: `{"id":1,"name":"${"x".repeat(65536)}"}`,
    error: 41301,
    says: "65536 bytes",
  },
  { what: "no media type", headers: { ...good, "Content-Type": "" }, error: 41501 },
  { what: "text", headers: { ...good, "Content-Type": "text/plain" }, error: 41501, says: "text/plain" },
  {
    what: "another charset",
    headers: { ...good, "Content-Type": "application/json; charset=latin1" },
    error: 41501,
  },
  { what: "a compressed body", headers: { ...good, "Content-Encoding": "gzip" }, error: 41502 },
];

onEveryEngine((engine) => {
  let running: TestService;
  beforeAll(async () => {
    running = await engine.start();
  });
  afterAll(() => running[Symbol.asyncDispose]());

  describe("a request is refused", () => {
    for (const {
      what,
      method = "POST",
      path = "/plants",
      headers = good,
      body = '{"id":1,"name":"a"}',
      error,
      says,
      has,
    } of scenarios) {
      test(`for ${what}: ${error}`, async () => {
        const response = await fetch(running.url + path, {
          method,
          headers,
          ...(method === "POST" ? { body } : {}),
        });
        const text = await response.text();
        expect(response.status).toBe(Math.floor(error / 100));
        expect(response.headers.get("content-type")).toBe("application/json");
        const answer = JSON.parse(text) as Record<string, unknown>;
        expect(Object.keys(answer)).toEqual(["error", "message"]);
        expect(answer["error"]).toBe(error);
        expect(answer["message"]).toContain(says ?? "");
        for (const [name, value] of Object.entries(has ?? {})) expect(response.headers.get(name)).toBe(value);
        expectCommonHeaders(response);
        expect(text).not.toMatch(/select|insert|sqlite|postgres|\bat \w+ \(|\.ts\b/i);
        expect(text).not.toContain(accessToken);
      });
    }

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

    const mediaTypes = [
      "Application/JSON",
      "application/json; charset=UTF-8",
      'application/json;charset="utf-8"; v=1',
      "application/json;",
      'application/json; x="a;b"; charset=utf-8',
    ];
    for (const type of mediaTypes) {
      test(`as ${type}`, async () => {
        expect((await post(running.url, '{"id":102,"name":"a"}', { "Content-Type": type })).status).toBe(200);
      });
    }

    test("with the authentication scheme in any case", async () => {
      expect(
        (await post(running.url, '{"id":102,"name":"a"}', { Authorization: `bEARER  ${accessToken}` }))
          .status,
      ).toBe(200);
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

    const different: [string, string][] = [
      ['{"id":200,"name":"Secret guess","tag":"tree"}', "a different name."],
      ['{"id":200,"name":"Oak"}', "a different tag."],
      ['{"id":200,"name":"Oak","tag":""}', "a different tag."],
      ['{"id":200,"name":"Elm","tag":"bush"}', "a different name and a different tag."],
    ];
    for (const [body, says] of different) {
      test(`with different content is refused, naming ${says}`, async () => {
        const response = await post(running.url, body);
        const text = await response.text();
        expect([response.status, JSON.parse(text).error]).toEqual([400, 40020]);
        expect(text).toContain(says);
        expect(text).not.toMatch(/Oak|tree/);
        expect((await engine.stored(running.database)).find(({ id }) => id === 200n)).toMatchObject({
          name: "Oak",
          tag: "tree",
        });
      });
    }
  });

  describe("the request id", () => {
    test("is the client's if it is short and printable", async () => {
      const response = await post(running.url, "{}", { "X-Request-Id": "my-request-1" });
      expect(response.headers.get("x-request-id")).toBe("my-request-1");
    });

    for (const sent of ["x".repeat(65), "has space", "é"]) {
      test(`is a new one for ${JSON.stringify(sent.slice(0, 12))}`, async () => {
        const answer = await sendRaw(running.port, [
          Buffer.from(rawPost("{}", `X-Request-Id: ${sent}\r\n`), "latin1"),
        ]);
        expect(/X-Request-Id: (.*)\r/.exec(answer.text)?.[1]).toMatch(/^[0-9a-f]{16}-[0-9a-z]+$/);
      });
    }
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
