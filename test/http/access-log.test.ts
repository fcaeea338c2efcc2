// The log's line about each request: address, token and status, on both listeners.
import { afterAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { eventually } from "../support/eventually.ts";
import { sendRaw } from "../support/raw-http.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { accessToken, bearer, operatorToken } from "../support/tokens.ts";

const direct = await startTestService({ "log-requests": "all" });
afterAll(() => direct[Symbol.asyncDispose]());

const wrongToken = "guess".repeat(6);

type LoggedRequest = [
  listener: "url" | "operatorUrl",
  path: string,
  sent: string | undefined,
  /** Of a POST. */
  body: string | undefined,
  status: number,
  /** The name of the token in the log. */
  token: string | undefined,
];

test("a line says who sent a request, and with which token, on both listeners", async () => {
  const requests: LoggedRequest[] = [
    ["url", "/plants", accessToken, '{"id":1,"name":"a"}', 200, "preset-access"],
    ["url", "/plants", accessToken, "{", 400, "preset-access"],
    ["url", "/plants", wrongToken, "{}", 401, undefined],
    ["url", "/livez", undefined, undefined, 200, undefined],
    ["operatorUrl", "/api/tokens", operatorToken, undefined, 200, "preset-operator"],
    ["operatorUrl", "/api/tokens", accessToken, undefined, 403, "preset-access"],
    // Which the route denies.
    ["operatorUrl", "/api/imports", accessToken, "", 403, "preset-access"],
  ];
  const peer = { "client.address": "127.0.0.1", "network.peer.address": "127.0.0.1" };
  for (const [listener, path, sent, body, status, token] of requests) {
    const requestId = crypto.randomUUID();
    const headers = {
      ...(sent && bearer(sent)),
      "Content-Type": "application/json",
      "X-Request-Id": requestId,
    };
    const post = body === undefined ? {} : { method: "POST", body };
    await fetch(direct[listener] + path, { ...post, headers });
    const found = line(direct, requestId);
    expect(found).toMatchObject({ "url.path": path, "http.response.status_code": status, ...peer });
    expect(found["plant_store.token"]).toBe(token);
  }
  // In no line is the token itself.
  expect(direct.logged.join("")).not.toContain(wrongToken);
});

test("a line about what is not a request has the address without a method", async () => {
  await sendRaw(direct.port, ["nonsense\r\n\r\n"]);
  const broken = lines(direct).find((one) => one["error.type"] === "40030");
  expect(broken?.["client.address"]).toBe("127.0.0.1");
  expect(Object.keys(broken ?? {})).not.toContain("http.request.method");
});

test("a line has the route alone of the secret link to an export, whatever became of the request", async () => {
  const path = `/api/downloads/${crypto.randomUUID()}`;
  const heads: [start: string, host: string, status: number][] = [
    [`GET ${path}`, "localhost", 404],
    [`POST ${path}`, "localhost", 405],
    [`GET ${path}`, "evil.example.org", 421],
    [`GET http://evil.example.org${path}`, "localhost", 421],
    [`GET ${path}/`, "localhost", 404],
    [`GET ${path}%ff`, "localhost", 404],
  ];
  const before = lines(direct).length;
  for (const [start, host, status] of heads) {
    const request = `${start} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const { text } = await sendRaw(Number(new URL(direct.operatorUrl).port), [request]);
    expect(text).toStartWith(`HTTP/1.1 ${status} `);
  }
  expect(direct.logged.join("")).not.toContain(path);
  const paths = lines(direct)
    .slice(before)
    .map((one) => one["url.path"]);
  expect(paths).toEqual(Array(heads.length).fill("/api/downloads/{secret}"));
});

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

test("the address is the one that a trusted proxy names, on both listeners", async () => {
  await using proxied = await startTestService({
    "log-requests": "all",
    "trusted-proxies": "127.0.0.0/8,10.0.0.0/8",
  });
  for (const listener of ["url", "operatorUrl"] as const) {
    const headers = {
      "X-Forwarded-For": "203.0.113.9, 198.51.100.7, 10.1.2.3",
      "X-Request-Id": listener,
    };
    await fetch(`${proxied[listener]}/livez`, { headers });
    expect(line(proxied, listener)).toMatchObject({
      "client.address": "198.51.100.7",
      "network.peer.address": "127.0.0.1",
    });
  }
});

function lines({ logged }: TestService) {
  return logged.map((text) => JSON.parse(text));
}

function line(service: TestService, requestId: string) {
  return lines(service).find((found) => found["plant_store.request_id"] === requestId);
}
