// The ready command: which service it asks, what it prints, and what it does not take for a service that is ready.
import { afterAll, expect, test } from "bun:test";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";

const baseUrl = "https://plants.example.org/garden/v1";
const service = await startTestService({ "base-url": baseUrl });
afterAll(() => service[Symbol.asyncDispose]());
const [listen = "", operatorListen = ""] = service.addresses;
const publicUrl = `http://${listen}/garden/v1`;

const ready = (flags: readonly string[], environment: Record<string, string> = {}) =>
  runInProcess(["ready", ...flags], { environment });

test("ready asks the operator listener, the public one if that is off, or the URL that is given", async () => {
  const environment = {
    PLANT_STORE_LISTEN: listen,
    PLANT_STORE_OPERATOR_LISTEN: operatorListen,
    PLANT_STORE_BASE_URL: baseUrl,
  };
  // It needs no token and no password.
  const unreadable = {
    PLANT_STORE_OPERATOR_TOKEN_FILE: "/no/such/file",
    PLANT_STORE_ACCESS_TOKEN: "short",
    PLANT_STORE_DATABASE: "postgres://plants@db.example.org/plants",
    PLANT_STORE_DATABASE_PASSWORD_FILE: "/no/such/file",
  };
  const isReady = (url: string) => ({ code: 0, out: "", err: `${url} is ready.\n` });
  expect(await ready([], environment)).toEqual(isReady(`http://${operatorListen}`));
  expect(await ready(["--operator-listen", "off"], environment)).toEqual(isReady(publicUrl));
  expect(await ready(["--url", publicUrl], unreadable)).toEqual(isReady(publicUrl));
});

test("ready prints its result as JSON", async () => {
  const { code, out, err } = await ready(["--json", "--url", publicUrl]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(JSON.parse(out)).toEqual({ url: publicUrl, ready: true, problem: null });
  const url = "http://127.0.0.1:1";
  const unready = await ready(["--json", "--url", url]);
  expect(unready.code).toBe(1);
  expect(JSON.parse(unready.out)).toEqual({ url, ready: false, problem: "no response (ECONNREFUSED)." });
});

const upstream = new Response('{"error":"upstream","message":"none"}', { status: 502 });
test.each([
  ["another program", upstream, "something else responded, with status 502. Check the URL"],
  ["what is no service", new Response("null"), "something else responded, with status 200. Check the URL"],
  [
    "a redirect",
    Response.redirect(`${publicUrl}/readyz`, 307),
    `it redirects to ${publicUrl}/readyz, which is`,
  ],
])("ready does not take %s for the service", async (_, response, says) => {
  using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => response });
  const { code, out, err } = await ready(["--url", other.url.origin]);
  expect(code).toBe(1);
  expect(out).toBe("");
  expect(err).toStartWith(`${other.url.origin} is not ready: ${says}`);
});
