// What arrives and what is answered, in bytes. src/http/wire/ has the tests of each rule, of deadlines and of drains.
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { readFileSync } from "node:fs";
import { eventually } from "../support/eventually.ts";
import { connectTo, rawPost, sendRaw, type Target, untilContinue } from "../support/raw-http.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { accessToken } from "../support/tokens.ts";

const head = `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${accessToken}\r\nContent-Type: application/json\r\n`;
const chunkedHead = `${head}Transfer-Encoding: chunked\r\n\r\n`;
const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]));
const errors = (text: string) => [...text.matchAll(/"error":(\d+)/g)].map((match) => Number(match[1]));
let lastId = 1000;
const plant = (name: string) => rawPost(`{"id":${newId()},"name":"${name}"}`);

function newId(): number {
  lastId++;
  return lastId;
}

const certificates = `${import.meta.dir}/../certificates`;
const tls = { "tls-cert": `${certificates}/localhost.pem`, "tls-key": `${certificates}/localhost.key` };
const trusted = { ca: readFileSync(`${certificates}/ca.pem`, "utf8"), servername: "localhost" };

describe.each([
  ["plain text", {}],
  ["TLS", tls],
])("in %s,", (transport, flags) => {
  let service: TestService;
  let target: Target;
  beforeAll(async () => {
    service = await startTestService({ "max-body-bytes": "2000", ...flags });
    target = transport === "TLS" ? { port: service.port, ...trusted } : service.port;
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test("requests arrive pipelined, with a refused one among them, and are answered in order", async () => {
    // More than a stranger may pipeline.
    const names = Array.from({ length: 50 }, (_, index) => `n${index}${"x".repeat(1000)}`);
    const { text } = await sendRaw(target, [names.map(plant).join("") + rawPost("{") + plant("last")]);
    expect([...text.matchAll(/"name":"(\w+)"/g)].map((match) => match[1])).toEqual([...names, "last"]);
    expect(statuses(text)).toEqual([...Array(50).fill(200), 400, 200]);
  });

  test("a health check and a create may arrive together", async () => {
    const { text } = await sendRaw(target, [`GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n${plant("a")}`]);
    expect(statuses(text)).toEqual([200, 200]);
  });

  test("requests arrive in chunks, with extensions and trailers", async () => {
    const body = `1\r\n{\r\n18;x=y\r\n"id":${newId()},"name":"chunk"\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n`;
    const { text } = await sendRaw(target, [chunkedHead, 0, body, rawPost("{}")]);
    expect(statuses(text)).toEqual([200, 400]);
  });

  describe("a request with Expect: 100-continue", () => {
    const body = () => `{"id":${newId()},"name":"wait"}`;
    const expecting = (text: string) => `Expect: 100-continue\r\nContent-Length: ${text.length}\r\n\r\n`;

    test("gets a 100 if it may continue", async () => {
      const text = body();
      const answer = await sendRaw(target, [head + expecting(text), untilContinue, text]);
      expect(statuses(answer.text)).toEqual([100, 200]);
    });

    test("gets no 100 if it is refused", async () => {
      const withoutToken = `POST /plants HTTP/1.1\r\nHost: localhost\r\n${expecting(body())}`;
      const answer = await sendRaw(target, [withoutToken]);
      expect(statuses(answer.text)).toEqual([401]);
    });
  });

  test("a connection persists after a refusal based on the head, whose body is skipped", async () => {
    const refused = "POST /plants HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n";
    const { text } = await sendRaw(target, [refused, 0, "GET /", 0, plant("a")]);
    expect(statuses(text)).toEqual([401, 200]);
  });

  test("a connection persists until the client says close", async () => {
    const livez = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const last = livez.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    const answer = await sendRaw(target, [livez + last + livez]);
    expect(statuses(answer.text)).toEqual([200, 200]);
    expect(answer.text.match(/Connection: close\r\n/g)).toHaveLength(1);
  });

  test.each<[string, string, number]>([
    ["what is not HTTP", "\u0016\u0003\u0001\u0002\u0000", 40030],
    ["bare line feeds", "GET /livez HTTP/1.1\nHost: localhost\n\n", 40030],
    ["a large head", `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(17_000)}\r\n\r\n`, 43101],
    ["an unknown Expect", `${head}Expect: 100-continue, x\r\nContent-Length: 9\r\n\r\n`, 41701],
    ["a length over the limit, before the body comes", `${head}Content-Length: 2001\r\n\r\n`, 41301],
  ])("a connection is closed, with an Error body, for %s", async (_, text, error) => {
    const answer = await sendRaw(target, [Buffer.from(text, "latin1")]);
    expect(errors(answer.text)).toEqual([error]);
    expect(answer.text).toContain("Connection: close\r\n");
    expect(answer.text).toContain("Content-Type: application/json");
    expect(answer.text).toContain("X-Request-Id: ");
  });

  test("the refusal of a length over the limit can be read although the body was sent", async () => {
    const answer = await sendRaw(target, [`${head}Content-Length: 3000000\r\n\r\n${"x".repeat(3_000_000)}`]);
    expect(errors(answer.text)).toEqual([41301]);
  });

  test("the plant of a client that goes away before the response is found by its retry", async () => {
    const request = plant("gone");
    await new Promise<void>((resolve) => {
      const socket = connectTo(target, false, () => socket.write(request, () => socket.destroy()));
      socket.on("close", () => resolve());
    });
    await eventually(() => storedPlants(service.database).some(({ name }) => name === "gone"));
    expect((await sendRaw(target, [request])).text).toContain("Idempotent-Replayed: true");
  });
});

describe("an unknown Expect", () => {
  const request = (method: string, path: string) =>
    `${method} ${path} HTTP/1.1\r\nHost: other.example\r\nX-Request-Id: mine\r\nExpect: x 100-continue\r\n\r\n`;

  // Neither path, method, host nor credentials are right.
  test.each(["public", "operator"] as const)(
    "is refused before anything else on the %s listener",
    async (listener) => {
      await using service = await startTestService();
      const port = listener === "public" ? service.port : Number(new URL(service.operatorUrl).port);
      const { text } = await sendRaw(port, [request("DELETE", "/nowhere") + request("GET", "/livez")]);
      expect(statuses(text)).toEqual([417]);
      expect(errors(text)).toEqual([41701]);
      expect(text).toContain("X-Request-Id: mine\r\n");
    },
  );

  test("of a HEAD is refused without a body, and in HTTP/1.0 ignored", async () => {
    await using service = await startTestService();
    const { text } = await sendRaw(service.port, [request("HEAD", "/livez")]);
    expect(text).toStartWith("HTTP/1.1 417 Expectation Failed\r\n");
    expect(text).toEndWith("\r\n\r\n");
    const ignored = await sendRaw(service.port, ["GET /livez HTTP/1.0\r\nExpect: x\r\n\r\n"]);
    expect(statuses(ignored.text)).toEqual([200]);
  });
});

describe("an internal error", () => {
  const trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";

  test("is answered with 50001, without a word about it, and logged with the caller's trace", async () => {
    await using service = await startTestService();
    const traceparent = `traceparent: 00-${trace_id}-00f067aa0ba902b7-01\r\n`;
    // Only escapes are read by JSON.parse, so this breaks the reading of this body alone.
    using _ = spyOn(JSON, "parse").mockImplementationOnce(() => {
      throw new TypeError("broken on purpose");
    });
    const { text } = await sendRaw(service.port, [rawPost('{"id":1,"name":"\\n"}', traceparent)]);
    expect(errors(text)).toEqual([50001]);
    expect(text).toContain("Connection: close\r\n");
    expect(text).not.toContain("broken");
    const lines = service.logged.map((line) => JSON.parse(line)).filter((line) => line.trace_id === trace_id);
    expect(lines).toMatchObject([
      { message: "internal error", "exception.message": "broken on purpose" },
      { message: "failed", "error.type": "50001" },
    ]);
    expect(lines[0]["plant_store.request_id"]).toBe(lines[1]["plant_store.request_id"]);
  });
});

test("a body that does not arrive in time is refused with a response that closes the connection", async () => {
  await using service = await startTestService({ "body-timeout": "100ms" });
  const { text } = await sendRaw(service.port, [
    `${head}Content-Length: 30\r\n\r\nx`,
    (received) => eventually(() => errors(received()).includes(40801)),
  ]);
  expect(text).toContain("Connection: close\r\n");
});
