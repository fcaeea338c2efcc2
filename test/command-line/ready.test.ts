// The ready command: which service it asks, what it prints, and what it does not take for a service that is ready.
import { describe, expect, test } from "bun:test";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";

describe("ready", () => {
  const baseUrl = "https://plants.example.org/garden/v1";

  async function start() {
    const service = await startTestService({ "base-url": baseUrl });
    const [listen = "", operatorListen = ""] = service.addresses;
    return {
      publicUrl: `http://${listen}/garden/v1`,
      operatorUrl: `http://${operatorListen}`,
      environment: {
        PLANT_STORE_LISTEN: listen,
        PLANT_STORE_OPERATOR_LISTEN: operatorListen,
        PLANT_STORE_BASE_URL: baseUrl,
      },
      stop: () => service.stop("test"),
      [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
    };
  }

  test("asks the operator listener", async () => {
    await using service = await start();
    const { code, out, err } = await runInProcess(["ready"], { environment: service.environment });
    expect(code).toBe(0);
    expect(out).toBe("");
    expect(err).toBe(`${service.operatorUrl} is ready.\n`);
  });

  test("asks the public listener if the other is off", async () => {
    await using service = await start();
    const environment = { ...service.environment, PLANT_STORE_OPERATOR_LISTEN: "off" };
    const { code, out, err } = await runInProcess(["ready"], { environment });
    expect(code).toBe(0);
    expect(out).toBe("");
    expect(err).toBe(`${service.publicUrl} is ready.\n`);
  });

  test("asks the URL that is given", async () => {
    await using service = await start();
    const { code, out, err } = await runInProcess(["ready", "--url", service.publicUrl]);
    expect(code).toBe(0);
    expect(out).toBe("");
    expect(err).toBe(`${service.publicUrl} is ready.\n`);
  });

  test("reads no token and no password, since it needs none", async () => {
    await using service = await startTestService();
    const environment = {
      PLANT_STORE_OPERATOR_TOKEN_FILE: "/no/such/file",
      PLANT_STORE_ACCESS_TOKEN: "short",
      PLANT_STORE_DATABASE: "postgres://plants@db.example.org/plants",
      PLANT_STORE_DATABASE_PASSWORD_FILE: "/no/such/file",
    };
    const { code, err } = await runInProcess(["ready", "--url", service.url], { environment });
    expect(err).toBe(`${service.url} is ready.\n`);
    expect(code).toBe(0);
  });

  test("fails without a response", async () => {
    await using service = await start();
    await service.stop();
    const { code, err } = await runInProcess(["ready", "--url", service.publicUrl]);
    expect(code).toBe(1);
    expect(err).toBe(`${service.publicUrl} is not ready: no response (ECONNREFUSED).\n`);
  });

  test("prints whether it is ready as JSON", async () => {
    await using service = await startTestService();
    const url = service.url;
    const { code, out, err } = await runInProcess(["ready", "--json", "--url", url]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ url, ready: true, problem: null });
    expect(err).toBe("");
  });

  test("prints why it is not ready as JSON", async () => {
    const url = "http://127.0.0.1:1";
    const { code, out } = await runInProcess(["ready", "--json", "--url", url]);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toEqual({ url, ready: false, problem: "no response (ECONNREFUSED)." });
  });

  test.each([
    [502, '{"error":"upstream"}'],
    [200, "null"],
  ])("does not take another program's %i with %s for the service", async (status, body) => {
    using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(body, { status }) });
    const url = other.url.origin;
    const { code, err } = await runInProcess(["ready", "--url", url]);
    const reason = `something else responded, with status ${status}. Check the URL, and that the service is running.`;
    expect(code).toBe(1);
    expect(err).toBe(`${url} is not ready: ${reason}\n`);
  });

  test("does not follow a redirect, which could lead to another service", async () => {
    await using service = await startTestService();
    using other = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => Response.redirect(`${service.url}/readyz`, 307),
    });
    const url = other.url.origin;
    const { code, err } = await runInProcess(["ready", "--url", url]);
    expect(code).toBe(1);
    expect(err).toBe(
      `${url} is not ready: it redirects to ${service.url}/readyz, which is not followed. Check the URL.\n`,
    );
  });
});
