import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { catalogue, publicKinds } from "../src/http/error-catalogue.ts";
import contract from "../src/public/openapi.json" with { type: "json" };
import { operatorToken, post, sendRaw, startTestService, type TestService } from "./harness.ts";

interface Content {
  readonly examples: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
}

const { requestBody, responses } = contract.paths["/plants"].post;
const documented: Readonly<
  Record<string, { readonly headers: object; readonly content: { readonly "application/json": Content } }>
> = responses;
const examplesOf = (status: number) => documented[status]?.content["application/json"].examples ?? {};

test("everything of the contract is in it, and nothing else", () => {
  expect(contract).toMatchObject({
    openapi: "3.1.0",
    info: { version: "1.0.0", license: { name: "MIT" } },
    security: [{ bearer: [] }],
  });
  expect(Object.keys(contract.paths)).toEqual(["/plants"]);
  expect(Object.keys(contract.paths["/plants"])).toEqual(["post"]);
  const { Plant, NewPlant, Error: errorSchema } = contract.components.schemas;
  expect(Plant).toMatchObject({
    required: ["name"],
    properties: { name: { type: "string" }, tag: { type: "string" } },
  });
  expect(NewPlant.allOf[1]).toMatchObject({
    required: ["id"],
    properties: { id: { type: "integer", format: "int64" } },
  });
  expect(errorSchema).toMatchObject({
    required: ["error", "message"],
    properties: { error: { type: "integer", format: "int32" } },
  });
  expect(contract.components.securitySchemes.bearer).toMatchObject({ type: "http", scheme: "bearer" });
  expect(requestBody.required).toBe(true);
});

test("every reference leads to something", () => {
  const references = [...JSON.stringify(contract).matchAll(/"\$ref":"#\/([^"]+)"/g)];
  expect(references.length).toBeGreaterThan(20);
  for (const [, path = ""] of references) {
    const target = path.split("/").reduce<unknown>((part, name) => part?.[name as never], contract);
    expect([path, typeof target]).toEqual([path, "object"]);
  }
});

test("the description warns of clients that round ids, and names one that does not", () => {
  const { id } = contract.components.schemas.NewPlant.allOf[1]?.properties ?? {};
  expect(id?.description).toContain("rounds ids beyond 2^53");
  expect(id?.description).toContain("plant-store-client");
});

test("it has every error that the public listener responds with, under its status, and no other", () => {
  const written = Object.keys(documented).flatMap((status) =>
    status === "200" ? [] : Object.entries(examplesOf(Number(status))).map((entry) => [status, ...entry]),
  );
  const known = publicKinds.map((kind) => {
    const { error, when, example } = catalogue[kind];
    return [String(error).slice(0, 3), kind, { summary: when, value: { error, message: example } }];
  });
  expect(written).toEqual(known.sort(([a], [b]) => Number(a) - Number(b)));
});

describe("the service responds as in the examples", () => {
  let running: TestService;
  beforeAll(async () => {
    running = await startTestService();
    await post(running.url, '{"id":7,"name":"Fern"}');
  });
  afterAll(() => running[Symbol.asyncDispose]());

  for (const [name, { value }] of Object.entries(requestBody.content["application/json"].examples)) {
    test(`to the plant "${name}"`, async () => {
      const first = await post(running.url, JSON.stringify(value));
      expect([first.status, await first.json()]).toEqual([200, examplesOf(200)[name]?.value]);
      expect(first.headers.has("idempotent-replayed")).toBe(false);
      const second = await post(running.url, JSON.stringify(value));
      expect([second.status, await second.json()]).toEqual([200, examplesOf(200)[name]?.value]);
      const headers = Object.keys(documented["200"]?.headers ?? {});
      expect(headers.filter((header) => !second.headers.has(header))).toEqual([]);
    });
  }

  const fern = '{"id":1,"name":"Fern"}';
  const send = (body: string, headers: Record<string, string> = {}) => post(running.url, body, headers);
  // All but those that need a slow client, a rate limit, or a store or provider that fails.
  const provoked: Record<string, () => Promise<Response>> = {
    "body-empty": () => send(""),
    "not-json": () => send('{"name": }'),
    "not-text": () => send(`\ufeff${fern}`),
    "not-an-object": () => send("[]"),
    "name-repeated": () => send('{"id":1,"id":1,"name":"Fern"}'),
    "field-missing": () => send('{"id":1}'),
    "wrong-type": () => send('{"id":"7","name":"Fern"}'),
    "not-int64": () => send('{"id":9223372036854775808,"name":"Fern"}'),
    "holds-nul": () => send('{"id":1,"name":"\\u0000"}'),
    "id-conflict": () => send('{"id":7,"name":"Oak"}'),
    "not-http": () => raw("GET /plants HTTP/1.1\r\n\r\n"),
    "no-credentials": () => fetch(`${running.url}/plants`, { method: "POST", body: fern }),
    "bad-credentials": () => send(fern, { Authorization: "Bearer unknown-token-0123456789" }),
    "lacks-scope": () => send(fern, { Authorization: `Bearer ${operatorToken}` }),
    "no-such-path": () => fetch(`${running.url}/plant`),
    "no-such-method": () => fetch(`${running.url}/plants`),
    "body-too-large": () => send(" ".repeat(65_537)),
    "wrong-media-type": () => send(fern, { "Content-Type": "text/plain" }),
    "encoded-body": () => send(fern, { "Content-Encoding": "gzip" }),
    "head-too-large": () => raw(`GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ${"x".repeat(16_384)}\r\n\r\n`),
  };
  for (const [kind, provoke] of Object.entries(provoked)) {
    test(`to what causes ${kind}`, async () => {
      const response = await provoke();
      expect(await response.json()).toEqual(examplesOf(response.status)[kind]?.value);
      const headers = Object.keys(documented[response.status]?.headers ?? {});
      expect(headers.filter((header) => !response.headers.has(header))).toEqual([]);
    });
  }

  /** For what fetch would not send. */
  async function raw(request: string): Promise<Response> {
    const { text } = await sendRaw(running.port, [request]);
    const [head = "", body] = text.split("\r\n\r\n");
    const [statusLine = "", ...lines] = head.split("\r\n");
    const headers = lines.map((line): [string, string] => [line.split(": ")[0] ?? "", line]);
    return new Response(body, { status: Number(statusLine.split(" ")[1]), headers });
  }
});

test("it is served, with the address at which clients reach it", async () => {
  await using running = await startTestService();
  const response = await fetch(`${running.url}/openapi.json`);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(await response.json()).toEqual({ ...contract, servers: [{ url: running.url }] });
});
