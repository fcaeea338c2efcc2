// CORS: which origins may call POST /plants from a browser.
import { afterAll, describe, expect, test } from "bun:test";
import { post } from "../support/post-plants.ts";
import { startTestService } from "../support/test-service.ts";

const origin = "https://garden.example.org";
const preflight = {
  "Access-Control-Request-Method": "POST",
  "Access-Control-Request-Headers": "authorization",
};
const service = await startTestService({ "cors-origins": `${origin}, http://localhost:8080` });
afterAll(() => service[Symbol.asyncDispose]());

describe("with --cors-origins", () => {
  test("a preflight is answered before credentials are asked for", async () => {
    const { status, headers } = await options(service.url, { Origin: origin, ...preflight });
    expect(status).toBe(200);
    expect(headers.get("access-control-allow-origin")).toBe(origin);
    expect(headers.get("access-control-allow-methods")).toBe("GET, HEAD, POST");
    expect(headers.get("access-control-allow-headers")).toBe("Authorization, Content-Type, X-Request-Id");
    expect(headers.get("access-control-max-age")).toBe("600");
    expect(headers.get("vary")).toBe("Origin");
  });

  test.each([
    ["a create", '{"id":1,"name":"a"}', {}, 200],
    ["missing credentials", "{}", { Authorization: "" }, 401],
    ["a body over the limit", "x".repeat(70_000), {}, 413],
  ])("the response to %s has the headers of CORS", async (_, body, headers, status) => {
    const response = await post(service.url, body, { Origin: origin, ...headers });
    expect(response.status).toEqual(status);
    expect(response.headers.get("access-control-allow-origin")).toEqual(origin);
    expect(response.headers.get("access-control-expose-headers")).toBe(
      "X-Request-Id, Idempotent-Replayed, Retry-After, WWW-Authenticate",
    );
    expect(response.headers.get("vary")).toBe("Origin");
  });

  test("another origin gets none of them", async () => {
    for (const other of [`${origin}.evil.example`, origin.replace("https", "http"), "null", "*"]) {
      const preflighted = await options(service.url, { Origin: other, ...preflight });
      const created = await post(service.url, "{}", { Origin: other });
      for (const { headers } of [preflighted, created]) {
        expect([...headers.keys()].join()).not.toContain("access-control");
        expect(headers.get("vary")).toBe("Origin");
      }
    }
  });

  test("OPTIONS that is not a preflight is refused, and any at the operator listener", async () => {
    expect((await options(service.url, { Origin: origin })).status).toBe(405);
    const response = await options(service.operatorUrl, { Origin: origin, ...preflight });
    expect(response.status).toBe(405);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("* allows every origin", async () => {
    await using open = await startTestService({ "cors-origins": "*" });
    const { headers } = await options(open.url, { Origin: "https://anyone.example", ...preflight });
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.get("vary")).toEqual(null);
  });
});

test("without --cors-origins, no response mentions origins", async () => {
  await using closed = await startTestService();
  const { status, headers } = await options(closed.url, { Origin: origin, ...preflight });
  expect(status).toBe(405);
  expect([...headers.keys()].join()).not.toMatch(/access-control|vary/);
});

function options(url: string, headers: Record<string, string>): Promise<Response> {
  return fetch(`${url}/plants`, { method: "OPTIONS", headers });
}
