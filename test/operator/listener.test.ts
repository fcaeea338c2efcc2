// What holds for every path of the operator listener: the names it answers to, encoded bodies, and unknown paths.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mintToken } from "../support/operator-requests.ts";
import { sendRaw } from "../support/raw-http.ts";
import { operatorRoutes } from "../support/routes.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());

describe("a request to the operator listener", () => {
  async function respond(service: TestService, host: string): Promise<string> {
    const port = Number(new URL(service.operatorUrl).port);
    return (await sendRaw(port, [`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`])).text;
  }

  test("is served for the listener's own address", async () => {
    const { host } = new URL(service.operatorUrl);
    expect(await respond(service, host)).toStartWith("HTTP/1.1 200 ");
  });

  test.each(["localhost", "[::1]:1", "plants-1.Garden.localhost:3001"])(
    "is served for the name %s",
    async (host) => {
      expect(await respond(service, host)).toStartWith("HTTP/1.1 200 ");
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
    const text = await respond(service, host);
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
  const { token, secret } = await mintToken(service, {
    name: crypto.randomUUID(),
    scopes: ["plants:create", "operator"],
  });
  const headers = {
    ...bearer(secret),
    "Content-Type": "application/json",
    "Content-Encoding": "gzip",
  };
  const target = path.replaceAll(/\{\w+\}/g, token.id);
  const body = Bun.gzipSync('{"id":667,"name":"encoded"}\n');
  const response = await fetch(service.operatorUrl + target, { method: "POST", headers, body });
  expect(await response.json()).toMatchObject({ error: 41502 });
});

describe.each(["/nowhere", "/api/nowhere", "/assets/no.js"])("at the unknown path %s", (path) => {
  test("a browser gets the console with 404", async () => {
    const page = await (await fetch(service.operatorUrl)).text();
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

// What a browser accepts when it opens a page.
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

function fetchAs(accept: string, path: string, method = "GET"): Promise<Response> {
  return fetch(service.operatorUrl + path, { method, headers: { Accept: accept } });
}
