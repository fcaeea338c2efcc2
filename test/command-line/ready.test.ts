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

test("ready asks the operator listener, the public one if that is off, or the URL that is given", async () => {
  const ready = (flags: readonly string[], variables: Record<string, string>) =>
    runInProcess(["ready", ...flags], { environment: variables });
  const isReady = (url: string) => ({ code: 0, out: "", err: `${url} is ready.\n` });
  expect(await ready([], environment)).toEqual(isReady(operatorUrl));
  expect(await ready([], { ...environment, PLANT_STORE_OPERATOR_LISTEN: "off" })).toEqual(isReady(publicUrl));
  expect(await ready(["--url", publicUrl], unreadable)).toEqual(isReady(publicUrl));
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

test("ready takes neither another program nor a redirect for the service", async () => {
  /** Why it is not ready if this is its response. */
  async function problemWith(response: Response): Promise<string> {
    using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => response });
    const url = other.url.origin;
    const { code, out, err } = await runInProcess(["ready", "--url", url]);
    expect(code).toBe(1);
    expect(out).toBe("");
    return err.replace(`${url} is not ready: `, "");
  }

  const somethingElse = (status: number) =>
    `something else responded, with status ${status}. Check the URL, and that the service is running.\n`;
  const upstream = new Response('{"error":"upstream","message":"none"}', { status: 502 });
  expect(await problemWith(upstream)).toBe(somethingElse(502));
  expect(await problemWith(new Response("null"))).toBe(somethingElse(200));
  expect(await problemWith(Response.redirect(`${publicUrl}/readyz`, 307))).toBe(
    `it redirects to ${publicUrl}/readyz, which is not followed. Check the URL.\n`,
  );
});
