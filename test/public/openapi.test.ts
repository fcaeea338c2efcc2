// The OpenAPI document: the contract, every error of the public listener, and no more.
import { expect, test } from "bun:test";
import { catalogue, publicKinds } from "../../src/http/error-catalogue.ts";
import contract from "../../src/public/openapi.json" with { type: "json" };
import { post } from "../support/post-plants.ts";
import { startTestService } from "../support/test-service.ts";

interface Content {
  readonly examples: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
}

const { requestBody, responses } = contract.paths["/plants"].post;
const documented: Readonly<Record<string, { readonly content: { readonly "application/json": Content } }>> =
  responses;
const examplesOf = (status: number) => documented[status]?.content["application/json"].examples ?? {};

test("the OpenAPI document has the contract: one path, a bearer token, a plant and an error", () => {
  expect(contract.openapi).toBe("3.1.0");
  expect(contract.info).toMatchObject({ version: "1.0.0", license: { name: "MIT" } });
  expect(Object.keys(contract.paths)).toEqual(["/plants"]);
  expect(Object.keys(contract.paths["/plants"])).toEqual(["post"]);
  expect(requestBody.required).toBe(true);
  expect(contract.security).toEqual([{ bearer: [] }]);
  const { schemas, securitySchemes } = contract.components;
  expect(securitySchemes.bearer).toMatchObject({ type: "http", scheme: "bearer" });
  expect(schemas.Plant).toMatchObject({
    required: ["name"],
    properties: { name: { type: "string" }, tag: { type: "string" } },
  });
  expect(schemas.NewPlant.allOf[1]).toMatchObject({
    required: ["id"],
    properties: { id: { type: "integer", format: "int64" } },
  });
  expect(schemas.Error).toMatchObject({
    required: ["error", "message"],
    properties: { error: { type: "integer", format: "int32" } },
  });
});

test("every reference in the OpenAPI document leads to something", () => {
  const found = JSON.stringify(contract).matchAll(/"\$ref":"#\/([^"]+)"/g);
  const references = Array.from(found, ([, path = ""]) => path);
  const targetOf = (path: string) =>
    path.split("/").reduce<unknown>((part, name) => part?.[name as never], contract);
  expect(references.length).toBeGreaterThan(3);
  expect(references.filter((path) => typeof targetOf(path) !== "object")).toEqual([]);
});

test("the OpenAPI document has exactly the errors of the public listener, each under its status", () => {
  const written = Object.keys(documented).flatMap((status) =>
    status === "200" ? [] : Object.entries(examplesOf(Number(status))).map((entry) => [status, ...entry]),
  );
  const known = publicKinds.map((kind) => {
    const { error, when, example } = catalogue[kind];
    return [String(error).slice(0, 3), kind, { summary: when, value: { error, message: example } }];
  });
  expect(written).toEqual(known.sort(([a], [b]) => Number(a) - Number(b)));
});

test("the OpenAPI document is served with the address at which clients reach it", async () => {
  await using service = await startTestService();
  const response = await fetch(`${service.url}/openapi.json`);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(await response.json()).toEqual({ ...contract, servers: [{ url: service.url }] });
});

test.each(Object.entries(requestBody.content["application/json"].examples))(
  "the plant of the OpenAPI example %s gets the response that it shows",
  async (name, { value }) => {
    await using service = await startTestService();
    const plant = JSON.stringify(value);
    await post(service.url, plant);
    const again = await post(service.url, plant);
    expect(again.status).toBe(200);
    expect(await again.json()).toEqual(examplesOf(200)[name]?.value);
    const headers = Object.keys(responses["200"].headers);
    expect(headers.filter((header) => !again.headers.has(header))).toEqual([]);
  },
);
