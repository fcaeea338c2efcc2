// The headers that protect a browser, on every page and response of both listeners.
import { afterAll, expect, test } from "bun:test";
import { startTestService } from "../support/test-service.ts";
import { bearer, operatorToken } from "../support/tokens.ts";

// It is only read from.
const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());

type Listener = "public" | "operator";

const pages: [path: string, listener: Listener][] = [
  ["/docs", "public"],
  ["/", "operator"],
  ["/plants", "operator"],
];
const data: [path: string, listener: Listener][] = [
  ["/openapi.json", "public"],
  ["/api/plants", "operator"],
  ["/metrics", "operator"],
];

/** The headers of its response to a browser. */
async function headersOf(path: string, listener: Listener): Promise<Headers> {
  const url = listener === "public" ? service.url : service.operatorUrl;
  const headers = { ...bearer(operatorToken), Accept: "text/html" };
  const response = await fetch(url + path, { headers });
  expect(response.status).toBe(200);
  return response.headers;
}

test.each([...pages, ...data])(
  "%s of the %s listener is not cached, has a type that no browser guesses, and sets no cookie",
  async (path, listener) => {
    const headers = await headersOf(path, listener);
    expect(headers.get("cache-control")).toContain("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.has("set-cookie")).toBe(false);
  },
);

test.each(pages)("%s of the %s listener runs only its own scripts", async (path, listener) => {
  const policy = (await headersOf(path, listener)).get("content-security-policy");
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
});
