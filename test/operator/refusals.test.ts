// GET /api/refusals: who was refused lately, with what, and what is masked there.
import { afterAll, describe, expect, test } from "bun:test";
import { catalogue } from "../../src/http/error-catalogue.ts";
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

async function refusals(): Promise<readonly RefusalJson[]> {
  return (await operatorGet<RefusalsJson>(service, "/api/refusals")).refusals;
}

async function refusalsOf(sender: Partial<RefusalJson>): Promise<readonly RefusalJson[]> {
  const { token, address } = sender;
  return (await refusals()).filter((one) => one.token === token && one.address === address);
}

async function newToken(name: string): Promise<string> {
  return (await mintToken(service, { name, scopes: ["plants:create"] })).secret;
}

const withoutToken = (address: string, headers: Record<string, string> = {}) =>
  fetch(`${service.url}/plants`, { method: "POST", headers: { "X-Forwarded-For": address, ...headers } });

test("the list says how many senders it has for each error at most", async () => {
  const { sendersPerErrorMax } = await operatorGet<RefusalsJson>(service, "/api/refusals");
  expect(sendersPerErrorMax).toBe(20);
});

test("a token that is refused is listed with its error, its message and the request id of the response", async () => {
  const headers = bearer(await newToken("greenhouse"));
  await post(service.url, "[]", headers);
  const response = await post(service.url, "[]", headers);
  expect(await refusalsOf({ token: "greenhouse" })).toEqual([
    {
      error: 40004,
      reason: "the body is JSON but not an object",
      docsUrl: `${service.url}/docs#40004`,
      listener: "public",
      token: "greenhouse",
      address: undefined,
      count: 2,
      lastAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      message: "The body must be a JSON object, but is an array.",
      messageIsExample: false,
      requestId: response.headers.get("x-request-id") ?? "",
    },
  ]);
});

test("a sender without a token is listed by its address", async () => {
  await withoutToken("192.0.2.1");
  expect(await refusalsOf({ address: "192.0.2.1" })).toMatchObject([{ error: 40101, count: 1 }]);
});

test("a limit keeps the senders that were refused last", async () => {
  await withoutToken("192.0.2.71");
  await withoutToken("192.0.2.72");
  const listed = await operatorGet<RefusalsJson>(service, "/api/refusals?limit=1");
  expect(listed.refusals).toMatchObject([{ address: "192.0.2.72" }]);
});

test("a sender of many IPv6 addresses is listed once, by their network", async () => {
  await withoutToken("2001:db8:1:2::1");
  await withoutToken("2001:db8:1:2::2");
  expect(await refusalsOf({ address: "2001:db8:1:2::/64" })).toMatchObject([{ error: 40101, count: 2 }]);
});

test("a sender whose token is unknown is listed by its address", async () => {
  await withoutToken("192.0.2.2", bearer(unknownToken));
  expect(await refusalsOf({ address: "192.0.2.2" })).toMatchObject([{ error: 40102 }]);
});

test("a token that lacks the scope is listed by its name", async () => {
  await operatorFetch(service, "/api/refusals", { token: await newToken("without scope") });
  expect(await refusalsOf({ token: "without scope" })).toMatchObject([
    { error: 40301, listener: "operator" },
  ]);
});

test("the 20 senders that got an error last are listed, whoever gets another", async () => {
  await post(service.url, '{"id":1}', bearer(await newToken("before the flood")));
  for (let host = 1; host <= 25; host++) await withoutToken(`198.51.100.${host}`);
  const last = (await refusals()).filter(({ error }) => error === 40101).map(({ address }) => address);
  expect(last).toEqual(Array.from({ length: 20 }, (_, index) => `198.51.100.${25 - index}`));
  expect(await refusalsOf({ token: "before the flood" })).toMatchObject([{ error: 40010 }]);
});

describe("what a client sent is masked if it may be a token:", () => {
  test("in the message", async () => {
    const secret = await newToken("a token in the body");
    await post(service.url, JSON.stringify({ id: secret, name: "" }), bearer(secret));
    const [refusal] = await refusalsOf({ token: "a token in the body" });
    expect(refusal?.message).toContain('but is the string "[masked]');
  });

  test("in its request id", async () => {
    const headers = bearer(await newToken("a token as request id"));
    await post(service.url, "[]", { ...headers, "X-Request-Id": unknownToken });
    expect(await refusalsOf({ token: "a token as request id" })).toMatchObject([{ requestId: "[masked]" }]);
  });

  test("in one that starts like the service's own", async () => {
    const headers = bearer(await newToken("a token after a prefix"));
    const prefix = (await post(service.url, "[]", headers)).headers.get("x-request-id")?.split("-")[0];
    await post(service.url, "[]", { ...headers, "X-Request-Id": `${prefix}-${unknownToken}` });
    expect(await refusalsOf({ token: "a token after a prefix" })).toMatchObject([{ requestId: "[masked]" }]);
  });
});

test("a client's own short request id is listed as it was sent", async () => {
  const headers = bearer(await newToken("a request id"));
  await post(service.url, "[]", { ...headers, "X-Request-Id": "job-17/a" });
  expect(await refusalsOf({ token: "a request id" })).toMatchObject([{ requestId: "job-17/a" }]);
});

test("an id of 20 characters is not masked", async () => {
  const headers = bearer(await newToken("a conflict"));
  for (const name of ["Fern", "Moss"])
    await post(service.url, `{"id":-9223372036854775808,"name":"${name}"}`, headers);
  const [refusal] = await refusalsOf({ token: "a conflict" });
  expect(refusal?.message).toStartWith("The id -9223372036854775808 already belongs");
});

describe("the catalogue's message stands for one that quotes", () => {
  test("the path (40401)", async () => {
    await fetch(`${service.url}/a-secret-path`, { headers: { "X-Forwarded-For": "203.0.113.1" } });
    const { example: message } = catalogue["no-such-path"];
    expect(await refusalsOf({ address: "203.0.113.1" })).toMatchObject([{ error: 40401, message }]);
  });

  test("the path of a page (40401)", async () => {
    const headers = { "X-Forwarded-For": "203.0.113.2", Accept: "text/html" };
    await (await fetch(`${service.operatorUrl}/a-secret-path`, { headers })).text();
    const { example: message } = catalogue["no-such-path"];
    expect(await refusalsOf({ address: "203.0.113.2" })).toMatchObject([{ error: 40401, message }]);
  });

  test("the path and the method (40501)", async () => {
    await fetch(`${service.url}/plants`, {
      method: "DELETE",
      headers: { "X-Forwarded-For": "203.0.113.3" },
    });
    const { example: message } = catalogue["no-such-method"];
    expect(await refusalsOf({ address: "203.0.113.3" })).toMatchObject([{ error: 40501, message }]);
  });

  test("the host (42101)", async () => {
    const lines = ["GET / HTTP/1.1", "Host: a-secret.example", "X-Forwarded-For: 203.0.113.4"];
    const port = Number(new URL(service.operatorUrl).port);
    await sendRaw(port, [`${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`]);
    const { example: message } = catalogue["wrong-host"];
    const listed = await refusalsOf({ address: "203.0.113.4" });
    expect(listed).toMatchObject([{ error: 42101, message }]);
    expect(listed[0]).not.toHaveProperty("docsUrl");
  });
});

test("no refused request is listed with its path, its body or its token", async () => {
  const headers = { "X-Forwarded-For": "203.0.113.5" };
  await fetch(`${service.url}/somewhere/else?token=${accessToken}`, { headers });
  await post(service.url, '{"id":2,"name":"A name nobody should see","tag":7}');
  const text = JSON.stringify(await refusals());
  expect(text).toContain('Field \\"tag\\" must be a string');
  expect(text).not.toMatch(/somewhere|nobody should see|test-access-token/);
});

test("only the scope operator may read the refused requests", async () => {
  const { secret } = await mintToken(service, {
    name: "reader",
    scopes: ["operator:read"],
  });
  const response = await operatorFetch(service, "/api/refusals", { token: secret });
  expect(response.status).toBe(403);
});
