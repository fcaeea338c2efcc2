// GET /api/refusals: who was refused lately, with what, and what is masked there.
import { afterAll, expect, test } from "bun:test";
import type { RefusalJson, RefusalsJson } from "../../src/operator/responses.ts";
import { mintToken, operatorFetch, operatorGet } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { sendRaw } from "../support/raw-http.ts";
import { startTestService } from "../support/test-service.ts";
import { accessToken, bearer } from "../support/tokens.ts";

// The tests share a service, which trusts the X-Forwarded-For of this machine. Each refuses under names or addresses of its own.
const service = await startTestService({ "trusted-proxies": "127.0.0.1" });
afterAll(() => service[Symbol.asyncDispose]());

const unknownToken = "unknown0token0123456789";

async function refusalsOf(sender: Partial<RefusalJson>): Promise<readonly RefusalJson[]> {
  const { refusals } = await operatorGet<RefusalsJson>(service, "/api/refusals");
  return refusals.filter(({ token, address }) => token === sender.token && address === sender.address);
}

const withoutToken = (address: string, headers: Record<string, string> = {}) =>
  fetch(`${service.url}/plants`, { method: "POST", headers: { "X-Forwarded-For": address, ...headers } });

test("a token that is refused is listed with its error, its message and the request id of the response", async () => {
  const { secret } = await mintToken(service, { name: "greenhouse" });
  const headers = bearer(secret);
  await post(service.url, "[]", headers);
  const response = await post(service.url, "[]", headers);
  expect(await refusalsOf({ token: "greenhouse" })).toMatchObject([
    {
      error: 40004,
      docsUrl: `${service.url}/docs#40004`,
      listener: "public",
      count: 2,
      lastAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      message: "The body must be a JSON object, but is an array.",
      requestId: response.headers.get("x-request-id") ?? "",
    },
  ]);
  // One that lacks the scope is listed by its name too.
  await operatorFetch(service, "/api/refusals", { token: secret });
  expect(await refusalsOf({ token: "greenhouse" })).toContainEqual(
    expect.objectContaining({ error: 40301, listener: "operator" }),
  );
});

test("a sender without a valid token is listed by its address or IPv6 network, the last one first", async () => {
  await withoutToken("192.0.2.1");
  expect(await refusalsOf({ address: "192.0.2.1" })).toMatchObject([{ error: 40101, count: 1 }]);
  await withoutToken("192.0.2.2", bearer(unknownToken));
  expect(await refusalsOf({ address: "192.0.2.2" })).toMatchObject([{ error: 40102 }]);
  await withoutToken("2001:db8:1:2::1");
  await withoutToken("2001:db8:1:2::2");
  expect(await refusalsOf({ address: "2001:db8:1:2::/64" })).toMatchObject([{ error: 40101, count: 2 }]);
  const last = await operatorGet<RefusalsJson>(service, "/api/refusals");
  expect(last.refusals[0]).toMatchObject({ address: "2001:db8:1:2::/64" });
  expect(last.sendersPerErrorMax).toBe(20);
});

test("a token that a client sent in the wrong place is masked, and nothing else", async () => {
  const { secret } = await mintToken(service, { name: "sends tokens" });
  const headers = { "Content-Type": "application/json", ...bearer(secret) };
  const mistyped = "pst_0123456789";
  const listed = async (error: number) =>
    (await refusalsOf({ token: "sends tokens" })).find((refusal) => refusal.error === error);
  await post(service.url, JSON.stringify({ id: mistyped, name: "" }), headers);
  expect((await listed(40011))?.message).toContain('but is the string "[masked]');

  const response = await post(service.url, "[]", { ...headers, "X-Request-Id": mistyped });
  expect(await listed(40004)).toMatchObject({ requestId: "[masked]" });
  expect(response.headers.get("x-request-id")).toBe(mistyped);
  const uuid = crypto.randomUUID();
  await post(service.url, "[]", { ...headers, "X-Request-Id": uuid });
  expect(await listed(40004)).toMatchObject({ requestId: uuid });

  // What curl sends unless it is told otherwise.
  await post(service.url, "{}", { ...headers, "Content-Type": "application/x-www-form-urlencoded" });
  expect((await listed(41501))?.message).toBe(
    "The Content-Type must be application/json, but is application/x-www-form-urlencoded.",
  );
});

test("no path, host, body or token of a refused request is listed", async () => {
  const from = (address: string) => ({ "X-Forwarded-For": address });
  const page = { headers: { ...from("203.0.113.2"), Accept: "text/html" } };
  const host = ["GET / HTTP/1.1", "Host: a-secret.example", "X-Forwarded-For: 203.0.113.4"];
  await fetch(`${service.url}/a-secret/path?token=${accessToken}`, { headers: from("203.0.113.1") });
  await (await fetch(`${service.operatorUrl}/a-secret-path`, page)).text();
  await fetch(`${service.url}/plants`, { method: "DELETE", headers: from("203.0.113.3") });
  const port = Number(new URL(service.operatorUrl).port);
  await sendRaw(port, [`${host.join("\r\n")}\r\nConnection: close\r\n\r\n`]);
  await post(service.url, '{"id":2,"name":"A secret name","tag":7}');

  const messagesTo = async (address: string) =>
    (await refusalsOf({ address })).map(({ error, message }) => [error, message]);
  expect(await messagesTo("203.0.113.1")).toEqual([[40401, "path not recorded"]]);
  expect(await messagesTo("203.0.113.2")).toEqual([[40401, "path not recorded"]]);
  expect(await messagesTo("203.0.113.3")).toEqual([[40501, "path not recorded"]]);
  expect(await messagesTo("203.0.113.4")).toEqual([[42101, "host not recorded"]]);
  const text = JSON.stringify(await operatorGet(service, "/api/refusals"));
  expect(text).toContain('Field \\"tag\\" must be a string');
  expect(text).not.toMatch(/secret|test-access-token/);
});
