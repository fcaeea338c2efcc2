// What holds for every path of the operator listener: the names it answers to, encoded bodies, and unknown paths.
import { afterAll, expect, test } from "bun:test";
import { mintToken } from "../support/operator-requests.ts";
import { sendRaw } from "../support/raw-http.ts";
import { operatorRoutes } from "../support/routes.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());

/** The status for each of these names as Host, and the error in the body if there is one. */
async function responsesTo(service: TestService, hosts: readonly string[]): Promise<Record<string, string>> {
  const port = Number(new URL(service.operatorUrl).port);
  const responses: Record<string, string> = {};
  for (const host of hosts) {
    const { text } = await sendRaw(port, [`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`]);
    const [, error = ""] = /\{"error":(\d+),/.exec(text) ?? [];
    responses[host] = `${text.slice(0, "HTTP/1.1 200".length)} ${error}`.trim();
  }
  return responses;
}
const each = (hosts: readonly string[], response: string) =>
  Object.fromEntries(hosts.map((host) => [host, response]));
const served = "HTTP/1.1 200";
const refused = "HTTP/1.1 421 42101";

test("a request is served for the listener's own address and for names of this machine", async () => {
  const { host } = new URL(service.operatorUrl);
  const hosts = [host, "localhost", "[::1]:1", "plants-1.Garden.localhost:3001"];
  expect(await responsesTo(service, hosts)).toEqual(each(hosts, served));
});

test("a request is refused for a name that another site could have made point here", async () => {
  const hosts = [
    "evil.example",
    "localhost.evil.example",
    "evil.example%00.localhost",
    "evil.example%2f.localhost",
    "evil.example,.localhost",
    "evil_example.localhost",
    ".localhost",
    "127.0.0.1:99999",
  ];
  expect(await responsesTo(service, hosts)).toEqual(each(hosts, refused));
});

test("with --operator-hosts, a request is served for these names too, and for no others", async () => {
  await using named = await startTestService({ "operator-hosts": "plants.example.org, Garden.example" });
  const own = ["plants.example.org", "GARDEN.example:8443", "localhost"];
  const others = ["evil.plants.example.org", "example.org"];
  expect(await responsesTo(named, [...own, ...others])).toEqual({
    ...each(own, served),
    ...each(others, refused),
  });
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
