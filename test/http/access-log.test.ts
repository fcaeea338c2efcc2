// The log's line about each request: address, token and status, on both listeners.
import { afterAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { eventually } from "../support/eventually.ts";
import { post } from "../support/post-plants.ts";
import { sendRaw } from "../support/raw-http.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { accessToken, bearer, operatorToken } from "../support/tokens.ts";

const direct = await startTestService({ "log-requests": "all" });
afterAll(() => direct[Symbol.asyncDispose]());

const wrongToken = "guess".repeat(6);

const plant = { method: "POST", path: "/plants", sent: accessToken };

test.each([
  {
    what: "a plant that is created",
    ...plant,
    body: '{"id":1,"name":"a"}',
    status: 200,
    token: "preset-access",
  },
  { what: "a plant that is refused", ...plant, body: "{", status: 400, token: "preset-access" },
  { what: "a wrong token", ...plant, sent: wrongToken, body: "{}", status: 401, token: undefined },
  { what: "a health check", path: "/livez", status: 200, token: undefined },
])("the public listener logs who sent $what", async (request) => {
  await expectLine(direct.url, request);
});

test.each([
  {
    what: "a request for the tokens",
    path: "/api/tokens",
    sent: operatorToken,
    status: 200,
    token: "preset-operator",
  },
  {
    what: "a token without the scope",
    path: "/api/tokens",
    sent: accessToken,
    status: 403,
    token: "preset-access",
  },
  {
    what: "a token that the route denies",
    method: "POST",
    path: "/api/imports",
    sent: accessToken,
    status: 403,
    token: "preset-access",
  },
])("the operator listener logs who sent $what", async (request) => {
  await expectLine(direct.operatorUrl, request);
});

test("no line has a wrong token", async () => {
  await post(direct.url, "{}", bearer(wrongToken));
  expect(direct.logged.join("")).not.toContain(wrongToken);
});

test("a line about what is not a request has the address without a method", async () => {
  await sendRaw(direct.port, ["nonsense\r\n\r\n"]);
  const broken = lines(direct).find((one) => one["error.type"] === "40030");
  expect(broken?.["client.address"]).toBe("127.0.0.1");
  expect(Object.keys(broken ?? {})).not.toContain("http.request.method");
});

test.each([
  ["GET PATH", "localhost", 404],
  ["POST PATH", "localhost", 405],
  ["GET PATH", "evil.example.org", 421],
  ["GET http://evil.example.orgPATH", "localhost", 421],
  ["GET PATH/", "localhost", 404],
  ["GET PATH%ff", "localhost", 404],
])(
  "of the secret link to an export, the line for %s at %s has the route alone",
  async (start, host, status) => {
    const path = `/api/exports/${crypto.randomUUID()}`;
    const request = `${start.replace("PATH", path)} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const before = lines(direct).length;
    const { text } = await sendRaw(Number(new URL(direct.operatorUrl).port), [request]);
    expect(text).toStartWith(`HTTP/1.1 ${status} `);
    expect(direct.logged.join("")).not.toContain(path);
    const paths = lines(direct).slice(before);
    expect(paths.map((one) => one["url.path"])).toEqual(["/api/exports/{secret}"]);
  },
);

test("a line has the address even if the client has gone away", async () => {
  const socket = connect({ port: Number(new URL(direct.operatorUrl).port), host: "127.0.0.1" });
  await new Promise((resolve) => socket.once("connect", resolve));
  // Read from the store, so it responds after the reset.
  const request = `GET /api/overview HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: gone\r\nAuthorization: Bearer ${operatorToken}\r\n\r\n`;
  socket.write(request, () => socket.resetAndDestroy());
  await eventually(() => line(direct, "gone") !== undefined);
  expect(line(direct, "gone")).toMatchObject({
    "client.address": "127.0.0.1",
    "plant_store.token": "preset-operator",
  });
  expect(direct.logged.join("")).not.toContain("internal error");
});

test.each(["url", "operatorUrl"] as const)(
  "the address at %s is the one that a trusted proxy names",
  async (listener) => {
    await using proxied = await startTestService({
      "log-requests": "all",
      "trusted-proxies": "127.0.0.0/8,10.0.0.0/8",
    });
    const forwarded = { "X-Forwarded-For": "203.0.113.9, 198.51.100.7, 10.1.2.3" };
    await get(`${proxied[listener]}/livez`, "", { ...forwarded, "X-Request-Id": "forwarded" });
    expect(line(proxied, "forwarded")).toMatchObject({
      "client.address": "198.51.100.7",
      "network.peer.address": "127.0.0.1",
    });
  },
);

interface LoggedRequest {
  readonly method?: string;
  readonly path: string;
  readonly body?: string;
  /** The token that is sent, if there is one. */
  readonly sent?: string;
  readonly status: number;
  /** The name of the token in the log. */
  readonly token: string | undefined;
}

/** Sends the request, and expects its line in the log. */
async function expectLine(url: string, { method, path, body, sent, status, token }: LoggedRequest) {
  const requestId = crypto.randomUUID();
  await fetch(url + path, {
    method: method ?? "GET",
    headers: { ...(sent && bearer(sent)), "Content-Type": "application/json", "X-Request-Id": requestId },
    ...(body !== undefined && { body }),
  });
  const found = line(direct, requestId);
  expect(found?.["plant_store.token"]).toBe(token);
  expect(found).toMatchObject({
    "http.response.status_code": status,
    "client.address": "127.0.0.1",
    "network.peer.address": "127.0.0.1",
    "url.path": path,
  });
}

function get(url: string, token: string, headers: Record<string, string>): Promise<Response> {
  return fetch(url, { headers: { ...(token && bearer(token)), ...headers } });
}

function lines({ logged }: TestService) {
  return logged.map((text) => JSON.parse(text));
}

function line(service: TestService, requestId: string) {
  return lines(service).find((found) => found["plant_store.request_id"] === requestId);
}
