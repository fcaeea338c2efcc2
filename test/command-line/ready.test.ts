// The ready command: which service it asks, what it prints, and what it does not take for a service that is ready.
import { afterAll, expect, test } from "bun:test";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";

const baseUrl = "https://plants.example.org/garden/v1";
const service = await startTestService({ "base-url": baseUrl });
afterAll(() => service[Symbol.asyncDispose]());
const [listen = "", operatorListen = ""] = service.addresses;
const publicUrl = `http://${listen}/garden/v1`;
const operatorUrl = `http://${operatorListen}`;
const environment = {
  PLANT_STORE_LISTEN: listen,
  PLANT_STORE_OPERATOR_LISTEN: operatorListen,
  PLANT_STORE_BASE_URL: baseUrl,
};
// Without a token and a password, since it needs none.
const unreadable = {
  PLANT_STORE_OPERATOR_TOKEN_FILE: "/no/such/file",
  PLANT_STORE_ACCESS_TOKEN: "short",
  PLANT_STORE_DATABASE: "postgres://plants@db.example.org/plants",
  PLANT_STORE_DATABASE_PASSWORD_FILE: "/no/such/file",
};

test.each([
  ["the operator listener", [], environment, operatorUrl],
  [
    "the public listener, if the other is off",
    [],
    { ...environment, PLANT_STORE_OPERATOR_LISTEN: "off" },
    publicUrl,
  ],
  ["the URL that is given, without reading a token", ["--url", publicUrl], unreadable, publicUrl],
])("ready asks %s", async (_, flags, variables, url) => {
  const finished = await runInProcess(["ready", ...flags], { environment: variables });
  expect(finished).toEqual({ code: 0, out: "", err: `${url} is ready.\n` });
});

test("ready prints its result as JSON", async () => {
  const ready = await runInProcess(["ready", "--json", "--url", publicUrl]);
  expect(ready).toMatchObject({ code: 0, err: "" });
  expect(JSON.parse(ready.out)).toEqual({ url: publicUrl, ready: true, problem: null });
  const url = "http://127.0.0.1:1";
  const unready = await runInProcess(["ready", "--json", "--url", url]);
  expect(unready.code).toBe(1);
  expect(JSON.parse(unready.out)).toEqual({ url, ready: false, problem: "no response (ECONNREFUSED)." });
});

test.each([
  [
    "another program's 502",
    () => new Response('{"error":"upstream"}', { status: 502 }),
    "something else responded, with status 502. Check the URL, and that the service is running.",
  ],
  [
    "another program's 200 with null",
    () => new Response("null"),
    "something else responded, with status 200. Check the URL, and that the service is running.",
  ],
  [
    "a redirect, which could lead to another service,",
    () => Response.redirect(`${publicUrl}/readyz`, 307),
    `it redirects to ${publicUrl}/readyz, which is not followed. Check the URL.`,
  ],
])("ready does not take %s for the service", async (_, fetch, reason) => {
  using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
  const url = other.url.origin;
  const finished = await runInProcess(["ready", "--url", url]);
  expect(finished).toEqual({ code: 1, out: "", err: `${url} is not ready: ${reason}\n` });
});
