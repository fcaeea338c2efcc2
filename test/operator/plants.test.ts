// Reading plants through the operator API: lists and their parameters, one plant by its id, and exports.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import type { AuditPageJson, DownloadLinkJson, PlantPageJson } from "../../src/operator/responses.ts";
import { eventually } from "../support/eventually.ts";
import {
  lastAudited,
  mintToken,
  operatorFetch,
  operatorGet,
  operatorPost,
} from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { startTestService } from "../support/test-service.ts";

const unsafeId = "9007199254740993";
const minId = "-9223372036854775808";
// The tests share a service and its plants, which none of them changes.
const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());

beforeAll(async () => {
  const oaks = Array.from({ length: 30 }, (_, index) => index + 10).map((id) =>
    JSON.stringify({ id, name: `Oak ${id}`, tag: id % 2 ? "tree" : "bush" }),
  );
  for (const plant of [
    `{"id":${unsafeId},"name":"Árbol de Navidad","tag":"tree"}`,
    `{"id":${minId},"name":"100% Fern_1","tag":""}`,
    '{"id":3,"name":"Moss, \\"the\\" soft\\nkind"}',
    ...oaks,
  ])
    expect((await post(service.url, plant)).status).toBe(200);
});

const listPlants = (query: string) => operatorGet<PlantPageJson>(service, `/api/plants?${query}`);
const idsOf = ({ plants }: PlantPageJson) => plants.map(({ id }) => id);

describe("plants", () => {
  test("are listed in pages that neither repeat nor skip", async () => {
    const first = await listPlants("limit=20");
    const rest = await listPlants(`limit=1000&cursor=${first.next}`);
    const oaks = Array.from({ length: 30 }, (_, index) => String(39 - index));
    expect([...idsOf(first), ...idsOf(rest)]).toEqual([...oaks, "3", minId, unsafeId]);
    expect(rest).not.toHaveProperty("next");
  });

  test("are listed with every field, the oldest first if asked for", async () => {
    const { plants } = await listPlants("limit=2&order=oldest");
    const createdAt = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/);
    expect(plants).toEqual([
      { id: unsafeId, name: "Árbol de Navidad", tag: "tree", createdAt, createdBy: "preset-access" },
      { id: minId, name: "100% Fern_1", tag: "", createdAt, createdBy: "preset-access" },
    ]);
  });

  // How each engine filters is tested with the stores; this is how the parameters are read.
  test.each<[query: string, ids: string[]]>([
    ["tag=bush&limit=2", ["38", "36"]],
    ["tag=", [minId]],
    ["name=%C3%A1RBOL", [unsafeId]],
    ["name=0%25%20f", [minId]],
    [`id=${unsafeId}`, [unsafeId]],
    ["id=9007199254740992", []],
    // As `show` and the contract read it.
    [`id=${unsafeId}.0`, [unsafeId]],
    ["token=preset-access&tag=tree&limit=1", ["39"]],
    ["since=2100-01-01T00:00:00%2B02:00", []],
  ])("are filtered by %s", async (query, ids) => {
    expect(idsOf(await listPlants(query))).toEqual(ids);
  });

  test("are read by id", async () => {
    const read = (id: string) => operatorGet(service, `/api/plants/${id}`);
    expect(await read(unsafeId)).toMatchObject({ id: unsafeId, tag: "tree" });
    expect(await read("9007199254740992")).toMatchObject({ error: 40402 });
  });
});

// How each kind of value is read is tested in src/text/parsers.test.ts.
test.each([
  [
    "a limit over 1,000",
    "plants?limit=1001",
    'Parameter "limit" must be an integer from 1 to 1000, but is "1001".',
  ],
  ["an id over int64", "plants/9223372036854775808", 'Parameter "id" must be an integer from '],
  ["a part of a name over 100 characters", `plants?name=${"n".repeat(101)}`, "at most 100 characters"],
  ["an unknown parameter, cut within a character", `plants?${"a".repeat(98)}%F0%9F%8C%B1a=`, 'aa…" here'],
  ["a parameter that is given twice", "plants?tag=a&tag=b", "more than once"],
  ["a cursor that no page returned", "plants/count?name=x&cursor=z", "cursor"],
  ["two cursors", "plants?after=0&cursor=1", 'send no "cursor" and no "order" with it'],
])("a request with %s is refused", async (_, path, message) => {
  expect(await operatorGet(service, `/api/${path}`)).toEqual({
    error: 40031,
    message: expect.stringContaining(message),
  });
});

describe("an export", () => {
  test.each([
    ["", "ndjson", `{"id":${unsafeId},"name":"Árbol de Navidad","tag":"tree","createdAt":"`, '"tag":""'],
    ["format=csv", "csv", "id,name,tag,created_at,created_by\r\n", `\r\n${minId},100% Fern_1,"",20`],
    ["format=json", "json", '[\n{"id":', "\n]\n"],
    ["format=csv-safe", "csv", "id,safe_name,safe_tag,", `\r\n${minId},"100% Fern_1","",20`],
  ])(
    "with ?%s has a file name with the extension %s, and no length before",
    async (query, extension, start, part) => {
      const response = await operatorFetch(service, `/api/export?${query}`);
      const fileName = new RegExp(`^attachment; filename="plants-\\d{4}-\\d\\d-\\d\\d.*\\.${extension}"$`);
      expect(response.headers.get("content-disposition")).toMatch(fileName);
      const text = await response.text();
      expect(text).toStartWith(start);
      expect(text).toContain(part);
      const head = await operatorFetch(service, `/api/export?${query}`, { method: "HEAD" });
      expect(head.headers.has("content-length")).toBe(false);
    },
  );

  test("is downloaded by a link, once, and is in the audit trail from then on", async () => {
    const { url } = await operatorPost<DownloadLinkJson>(service, "/api/exports", {
      format: "csv",
      tag: "bush",
    });
    const link = service.operatorUrl + url;
    expect((await fetch(link, { method: "HEAD" })).status).toBe(405);
    expect(await lastAudited(service, 1)).not.toMatchObject([{ detail: 'csv, tag "bush"' }]);
    expect((await (await fetch(link)).text()).split("\r\n")).toHaveLength(17);
    expect(await lastAudited(service, 1)).toMatchObject([
      { actor: "preset-operator", action: "export.started", detail: 'csv, tag "bush"' },
    ]);
    expect((await fetch(link)).status).toBe(404);
  });
});

test("exports that nobody reads keep no one from reading, and end when their token is revoked", async () => {
  await using service = await startTestService();
  // Together far more than the kernel's buffers hold, so that an export that nobody reads does not end.
  const name = "x".repeat(60_000);
  const ids = Array.from({ length: 150 }, (_, index) => index);
  await Promise.all(ids.map((id) => post(service.url, JSON.stringify({ id, name }))));
  const { token, secret } = await mintToken(service, { name: "idle", scopes: ["operator:read"] });
  const sockets = Array.from({ length: 8 }, () => {
    const socket = connect({ port: Number(new URL(service.operatorUrl).port), host: "127.0.0.1" });
    socket.on("error", () => {}).pause();
    socket.write(`GET /api/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\n\r\n`);
    return socket;
  });
  await eventually(async () => {
    const { entries } = await operatorGet<AuditPageJson>(service, "/api/audit");
    return entries.filter(({ actor }) => actor === "idle").length === sockets.length;
  }, "the exports to run");

  const another = await operatorFetch(service, "/api/export", { token: secret });
  expect((await another.text()).split("\n")).toHaveLength(ids.length + 1);
  await operatorPost(service, `/api/tokens/${token.id}/revoke`);
  await eventually(async () => {
    const metrics = await (await operatorFetch(service, "/metrics")).text();
    return Number(/plant_store_connections{listener="operator"} (\d+)/.exec(metrics)?.[1]) < sockets.length;
  }, "the exports to end");
  for (const socket of sockets) socket.destroy();
});
