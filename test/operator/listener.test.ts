// What holds for every path of the operator listener: the names it answers to, encoded bodies, and unknown paths.
import { afterAll, expect, test } from "bun:test";
import { mintToken } from "../support/operator-requests.ts";
import { sendRaw } from "../support/raw-http.ts";
import { operatorRoutes } from "../support/routes.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());

/** Those of these names that a request may have as Host. For the others, it must be refused. */
async function servedHosts(service: TestService, hosts: readonly string[]): Promise<string[]> {
  const port = Number(new URL(service.operatorUrl).port);
  const served: string[] = [];
  for (const host of hosts) {
    const { text } = await sendRaw(port, [`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`]);
    if (text.startsWith("HTTP/1.1 200 ")) served.push(host);
    else expect(text).toMatch(/^HTTP\/1\.1 421 .*\{"error":42101,/s);
  }
  return served;
}

test("a request is served for names of this machine, and not for one that another site could make point here", async () => {
  const { host } = new URL(service.operatorUrl);
  const own = [host, "localhost", "[::1]:1", "plants-1.Garden.localhost:3001"];
  const others = [
    "evil.example",
    "localhost.evil.example",
    "evil.example%00.localhost",
    "evil.example%2f.localhost",
    "evil.example,.localhost",
    "evil_example.localhost",
    ".localhost",
    "127.0.0.1:99999",
  ];
  expect(await servedHosts(service, [...own, ...others])).toEqual(own);
});

test("with --operator-hosts, a request is served for these names too, and for no others", async () => {
  await using named = await startTestService({ "operator-hosts": "plants.example.org, Garden.example" });
  const own = ["plants.example.org", "GARDEN.example:8443", "localhost"];
  const others = ["evil.plants.example.org", "example.org"];
  expect(await servedHosts(named, [...own, ...others])).toEqual(own);
});

test("an encoded body is refused by every POST", async () => {
  const { token, secret } = await mintToken(service, {
    name: "encodes",
    scopes: ["plants:create", "operator"],
  });
  const headers = {
    ...bearer(secret),
    "Content-Type": "application/json",
    "Content-Encoding": "gzip",
  };
  const body = Bun.gzipSync('{"id":667,"name":"encoded"}\n');
  const paths = operatorRoutes.filter(({ method }) => method === "POST").map(({ path }) => path);
  const responses: Record<string, unknown> = {};
  for (const path of paths) {
    const target = service.operatorUrl + path.replaceAll(/\{\w+\}/g, token.id);
    const response = await fetch(target, { method: "POST", headers, body });
    responses[path] = ((await response.json()) as { error: number }).error;
  }
  expect(responses).toEqual(Object.fromEntries(paths.map((path) => [path, 41502])));
});

// What a browser accepts when it opens a page.
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

function fetchAs(accept: string, path: string, method = "GET"): Promise<Response> {
  return fetch(service.operatorUrl + path, { method, headers: { Accept: accept } });
}

test.each(["/nowhere", "/api/nowhere", "/assets/no.js"])(
  "at the unknown path %s, a browser gets the console with 404, and everyone else the Error body",
  async (path) => {
    const page = await (await fetch(service.operatorUrl)).text();
    const response = await fetchAs(browser, path);
    expect(response.status).toBe(404);
    expect(await response.text()).toBe(page);
    expect(response.headers.get("vary")).toBe("Accept, Accept-Encoding");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");

    const head = await fetchAs(browser, path, "HEAD");
    expect(head.status).toBe(404);
    expect(head.headers.get("content-type")).toBe("text/html; charset=utf-8");

    expect(await (await fetchAs("*/*", path)).json()).toMatchObject({ error: 40401 });
  },
);

test("a browser that opens no page gets the Error body", async () => {
  expect(await (await fetchAs(browser, "/nowhere", "POST")).json()).toMatchObject({ error: 40401 });
  expect(await (await fetchAs(browser, "/api/plants", "DELETE")).json()).toMatchObject({ error: 40501 });
});
