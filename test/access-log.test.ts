import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import {
  accessToken,
  eventually,
  operatorToken,
  post,
  sendRaw,
  startTestService,
  type TestService,
} from "./harness.ts";
import { lacks } from "./lacks.ts";

type Line = Record<string, unknown>;

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ family }) => family === "IPv6"),
);

let direct: TestService;
let proxied: TestService;
beforeAll(async () => {
  direct = await startTestService({ "log-requests": "all" });
  proxied = await startTestService({ "log-requests": "all", "trusted-proxies": "127.0.0.0/8,10.0.0.0/8" });
});
afterAll(async () => {
  await direct[Symbol.asyncDispose]();
  await proxied[Symbol.asyncDispose]();
});

describe("an access-log line", () => {
  test.skipIf(lacks("IPv6", !hasIpv6))(
    "names an IPv4 peer as IPv4 if the listener is on all addresses",
    async () => {
      await using all = await startTestService({ "log-requests": "all", listen: "[::]:0" });
      await post(`http://127.0.0.1:${new URL(all.url).port}`, '{"id":1,"name":"a"}', {
        "X-Request-Id": "mapped",
      });
      expect(line(all, "mapped")).toMatchObject({
        "client.address": "127.0.0.1",
        "network.peer.address": "127.0.0.1",
      });
    },
  );

  test("has the peer's address and the token's name, on both listeners", async () => {
    await post(direct.url, '{"id":1,"name":"a"}', { "X-Request-Id": "created" });
    await post(direct.url, "{", { "X-Request-Id": "refused" });
    await get(`${direct.operatorUrl}/api/tokens`, operatorToken, { "X-Request-Id": "listed" });
    await get(`${direct.operatorUrl}/api/tokens`, accessToken, { "X-Request-Id": "denied" });
    for (const [requestId, status, token] of [
      ["created", 200, "preset-access"],
      ["refused", 400, "preset-access"],
      ["listed", 200, "preset-operator"],
      ["denied", 403, "preset-access"],
    ] as const)
      expect(line(direct, requestId)).toMatchObject({
        "http.response.status_code": status,
        "plant_store.token": token,
        "client.address": "127.0.0.1",
        "network.peer.address": "127.0.0.1",
        "url.path": expect.stringMatching(/^\/(?:plants|api\/tokens)$/),
      });
  });

  test("has the address if there is no valid token, no request, or an open path", async () => {
    await post(direct.url, "{}", { Authorization: `Bearer ${"x".repeat(30)}`, "X-Request-Id": "guess" });
    await get(`${direct.url}/livez`, "", { "X-Request-Id": "probe" });
    await sendRaw(direct.port, ["nonsense\r\n\r\n"]);
    const broken = lines(direct).find((one) => one["error.type"] === "40030");
    for (const found of [line(direct, "guess"), line(direct, "probe"), broken])
      expect([found?.["client.address"], found?.["plant_store.token"]]).toEqual(["127.0.0.1", undefined]);
    expect(Object.keys(broken ?? {})).not.toContain("http.request.method");
  });

  test("has the address of every client that guesses a token, and every guess is counted", async () => {
    await using guessed = await startTestService();
    const wrong = `Bearer ${"guess".repeat(6)}`;
    for (const url of [guessed.url, guessed.operatorUrl])
      for (let guess = 0; guess < 15; guess++)
        expect((await post(url, "{}", { Authorization: wrong })).status).toBe(401);
    const refused = lines(guessed).filter((one) => one["error.type"] === "40102");
    expect(refused.length).toBeGreaterThan(0);
    for (const one of refused) expect(one["client.address"]).toBe("127.0.0.1");
    expect(guessed.logged.join("")).not.toContain("guessguess");
    const metrics = await (await get(`${guessed.operatorUrl}/metrics`, operatorToken, {})).text();
    for (const listener of ["public", "operator"])
      expect(metrics).toContain(`refusals_total{listener="${listener}",error="40102"} 15`);
  });

  test("has a link to an export as its route, since the link is a secret", async () => {
    const link = await fetch(`${direct.operatorUrl}/api/exports`, {
      method: "POST",
      headers: { Authorization: `Bearer ${operatorToken}` },
    });
    const { url } = (await link.json()) as { url: string };
    for (const method of ["HEAD", "POST", "GET"])
      await fetch(direct.operatorUrl + url, { method }).then((response) => response.text());
    expect(direct.logged.join("")).not.toContain(url);
    expect(lines(direct).filter((one) => one["url.path"] === "/api/exports/{secret}")).toHaveLength(3);
  });

  test("has such a link as its route even if the request fails after its head", async () => {
    const secret = crypto.randomUUID();
    const path = `/api/exports/${secret}`;
    const port = Number(new URL(direct.operatorUrl).port);
    const refused: [number, string][] = [
      [421, `GET ${path} HTTP/1.1\r\nHost: evil.example.org\r\n\r\n`],
      [421, `GET http://evil.example.org${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
      [404, `GET ${path}/ HTTP/1.1\r\nHost: localhost\r\n\r\n`],
      [404, `GET ${path}%ff HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    ];
    const before = lines(direct).length;
    for (const [status, request] of refused)
      expect((await sendRaw(port, [request])).text).toStartWith(`HTTP/1.1 ${status} `);
    expect(direct.logged.join("")).not.toContain(secret);
    expect(
      lines(direct)
        .slice(before)
        .map((one) => one["url.path"]),
    ).toEqual(refused.map(() => "/api/exports/{secret}"));
  });

  test("has the address even if the client has gone away", async () => {
    const socket = connect({ port: Number(new URL(direct.operatorUrl).port), host: "127.0.0.1" });
    await new Promise((resolve) => socket.once("connect", resolve));
    // Read from the store, so it responds after the reset.
    const request = `GET /api/overview HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: gone\r\nAuthorization: Bearer ${operatorToken}\r\n\r\n`;
    socket.write(request, () => socket.resetAndDestroy());
    await eventually(() => lines(direct).some((one) => one["plant_store.request_id"] === "gone"));
    expect(line(direct, "gone")).toMatchObject({
      "client.address": "127.0.0.1",
      "plant_store.token": "preset-operator",
    });
    expect(direct.logged.join("")).not.toContain("internal error");
  });

  test("has the trace and the span that a valid traceparent names, and none that an invalid one does", async () => {
    const [trace_id, span_id] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
    const traceparent = `00-${trace_id}-${span_id}-01`;
    await post(direct.url, '{"id":2,"name":"a"}', { traceparent, "X-Request-Id": "traced" });
    await post(direct.url, "{", { traceparent, "X-Request-Id": "traced-refused" });
    await post(direct.url, "{", { traceparent: traceparent.toUpperCase(), "X-Request-Id": "no-trace" });
    for (const id of ["traced", "traced-refused"])
      expect(line(direct, id)).toMatchObject({ trace_id, span_id, trace_flags: "01" });
    expect(Object.keys(line(direct, "no-trace") ?? {})).not.toContain("trace_id");
  });

  test("never has a secret", () => {
    expect(direct.logged.join("")).not.toMatch(new RegExp(`${accessToken}|${operatorToken}|x{30}`));
  });
});

describe("the address", () => {
  const spoofed = "203.0.113.9, 198.51.100.7, 10.1.2.3";
  const byProxy = { "network.peer.address": "127.0.0.1" };

  test("is the peer's, whatever the headers say, if no proxy is trusted", async () => {
    const headers = { "X-Forwarded-For": spoofed, Forwarded: "for=203.0.113.9", "X-Real-IP": "203.0.113.9" };
    await get(`${direct.url}/livez`, "", { ...headers, "X-Request-Id": "claims" });
    expect(line(direct, "claims")).toMatchObject({ "client.address": "127.0.0.1" });
  });

  test("is the one that a trusted proxy names, and no other header counts", async () => {
    await get(`${proxied.url}/livez`, "", { "X-Forwarded-For": spoofed, "X-Request-Id": "forwarded" });
    await get(`${proxied.url}/livez`, "", { Forwarded: "for=203.0.113.9", "X-Request-Id": "other" });
    await get(`${proxied.operatorUrl}/livez`, "", { "X-Forwarded-For": spoofed, "X-Request-Id": "operator" });
    expect(line(proxied, "forwarded")).toMatchObject({ ...byProxy, "client.address": "198.51.100.7" });
    expect(line(proxied, "other")).toMatchObject({ "client.address": "127.0.0.1" });
    expect(line(proxied, "operator")).toMatchObject({ ...byProxy, "client.address": "198.51.100.7" });
  });

  test("is read from several X-Forwarded-For headers as from one, in their order", async () => {
    const request = (id: string, ...values: readonly string[]) =>
      `GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: ${id}\r\n${values
        .map((value) => `X-Forwarded-For: ${value}\r\n`)
        .join("")}\r\n`;
    await sendRaw(proxied.port, [request("two", "203.0.113.9", "198.51.100.7", "10.1.2.3")]);
    await sendRaw(proxied.port, [request("quote", '"', "198.51.100.7")]);
    expect(line(proxied, "two")).toMatchObject({ ...byProxy, "client.address": "198.51.100.7" });
    expect(line(proxied, "quote")).toMatchObject({ ...byProxy, "client.address": "198.51.100.7" });
  });
});

function get(url: string, token: string, headers: Record<string, string>): Promise<Response> {
  return fetch(url, { headers: { ...(token && { Authorization: `Bearer ${token}` }), ...headers } });
}

function lines({ logged }: TestService): Line[] {
  return logged.map((text) => JSON.parse(text));
}

function line(service: TestService, requestId: string): Line | undefined {
  return lines(service).find((found) => found["plant_store.request_id"] === requestId);
}
