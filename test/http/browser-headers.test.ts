// The headers that protect a browser, on every page and response of both listeners.
import { afterAll, expect, test } from "bun:test";
import { startTestService } from "../support/test-service.ts";
import { bearer, operatorToken } from "../support/tokens.ts";

// It is only read from.
const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());

const pages = ["/docs", "/", "/plants"];
const data = ["/openapi.json", "/api/plants", "/metrics"];

/** The headers of the response to a browser. */
async function headersOf(path: string): Promise<Headers> {
  const url = ["/docs", "/openapi.json"].includes(path) ? service.url : service.operatorUrl;
  const headers = { ...bearer(operatorToken), Accept: "text/html" };
  const response = await fetch(url + path, { headers });
  expect(response.status).toBe(200);
  return response.headers;
}

test.each([...pages, ...data])(
  "%s is not cached, has a type that no browser guesses, and sets no cookie",
  async (path) => {
    const headers = await headersOf(path);
    expect(headers.get("cache-control")).toContain("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.has("set-cookie")).toBe(false);
  },
);

test.each(pages)("%s runs only its own scripts", async (path) => {
  const policy = (await headersOf(path)).get("content-security-policy");
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
});
