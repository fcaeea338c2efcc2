import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { catalogue, publicKinds } from "../src/http/error-catalogue.ts";
import { describeApi } from "../src/public/openapi.ts";
import { startTestService, temporaryFolder } from "./harness.ts";

const description = JSON.parse(describeApi("http://127.0.0.1:3000"));

test("the description is valid OpenAPI, by the linter's rules and the official schema", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "openapi.json");
  writeFileSync(file, JSON.stringify({ ...description, servers: [{ url: "https://example.org" }] }));
  const redocly = createRequire(import.meta.url).resolve("@redocly/cli/bin/cli.js");
  const environment = { PATH: process.env["PATH"] ?? "", REDOCLY_TELEMETRY: "off", CI: "true" };
  const ran = Bun.spawnSync(["node", redocly, "lint", file], { env: environment, cwd: folder.path });
  const said = ran.stdout.toString() + ran.stderr.toString();
  expect([ran.exitCode, said]).toEqual([0, expect.stringContaining("valid")]);
  expect(said).not.toMatch(/\d+ warning/i);
}, 30_000);

test("everything of the contract is in it, and nothing else", () => {
  expect(description).toMatchObject({
    openapi: "3.1.0",
    info: { version: "1.0.0", license: { name: "MIT" } },
    security: [{ bearer: [] }],
  });
  expect(Object.keys(description.paths)).toEqual(["/plants"]);
  expect(Object.keys(description.paths["/plants"])).toEqual(["post"]);
  const { Plant, NewPlant, Error: errorSchema } = description.components.schemas;
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
  expect(description.components.securitySchemes.bearer).toMatchObject({ type: "http", scheme: "bearer" });
  expect(description.paths["/plants"].post.requestBody.required).toBe(true);
});

test("every error that we answer with is there as an example, under its status", () => {
  const { responses } = description.paths["/plants"].post;
  for (const kind of publicKinds) {
    const { error, example } = catalogue[kind];
    const shown = responses[String(Math.floor(error / 100))].content["application/json"].examples[kind];
    expect(shown.value).toEqual({ error, message: example });
  }
});

test("it is served", async () => {
  await using running = await startTestService();
  const response = await fetch(`${running.url}/openapi.json`);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(await response.json()).toMatchObject({ openapi: "3.1.0", servers: [{ url: running.url }] });
});
