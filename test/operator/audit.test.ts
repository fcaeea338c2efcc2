// The audit trail through the operator API: what it has entries for, and how they are read.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type {
  AuditPageJson,
  CallerJson,
  DownloadLinkJson,
  PlantPageJson,
} from "../../src/operator/responses.ts";
import {
  lastAudited,
  mintToken,
  operatorFetch,
  operatorGet,
  operatorPost,
} from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { accessToken, operatorToken } from "../support/tokens.ts";

// The tests share a service and its plants. Each acts as a token of its own, or reads the entries that it caused last.
const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());

beforeAll(async () => {
  await post(service.url, '{"id":1,"name":"Rose","tag":"bush"}');
  await post(service.url, '{"id":2,"name":"Lilac","tag":"bush"}');
});

const readPlants = (service: TestService, query: string, token = operatorToken) =>
  operatorGet<PlantPageJson>(service, `/api/plants?${query}`, { token });
const readAudit = (service: TestService, query: string) =>
  operatorGet<AuditPageJson>(service, `/api/audit?${query}`);

describe("the audit trail", () => {
  /** A token that may read, by a name of its own: the actor of what it does. */
  const createReader = async (name: string) =>
    (await mintToken(service, { name, scopes: ["operator:read"] })).secret;

  test("has a sign-in", async () => {
    const secret = await createReader("signs in");
    const signedIn = await operatorPost<CallerJson>(service, "/api/sign-in", {}, { token: secret });
    expect(signedIn).toMatchObject({ name: "signs in", publicUrl: service.url });
    expect(signedIn).toEqual(await operatorGet<CallerJson>(service, "/api/me", { token: secret }));
    expect(await lastAudited(service, 1)).toMatchObject([
      { actor: "signs in", address: "127.0.0.1", action: "console.signed-in", detail: "operator:read" },
    ]);
  });

  test("has an export, unlike a request for its head", async () => {
    const secret = await createReader("exports");
    await operatorFetch(service, "/api/export?tag=bush", { method: "HEAD", token: secret });
    await (await operatorFetch(service, "/api/export?tag=bush", { token: secret })).arrayBuffer();
    expect(await lastAudited(service, 2)).toMatchObject([
      { action: "token.created", subject: "exports" },
      { actor: "exports", address: "127.0.0.1", action: "export.started", detail: 'ndjson, tag "bush"' },
    ]);
  });

  test("has an export through a link once it is downloaded", async () => {
    const before = await lastAudited(service, 1);
    const { url } = await operatorPost<DownloadLinkJson>(service, "/api/exports", { format: "csv" });
    expect(await lastAudited(service, 1)).toEqual(before);
    await (await fetch(service.operatorUrl + url)).arrayBuffer();
    expect(await lastAudited(service, 1)).toMatchObject([
      { actor: "preset-operator", address: "127.0.0.1", action: "export.started", detail: "csv" },
    ]);
  });

  test("quotes the filters of an export", async () => {
    const query = new URLSearchParams({ tag: "x, namePart y", id: "7" });
    await (await operatorFetch(service, `/api/export?${query}`)).text();
    expect(await lastAudited(service, 1)).toMatchObject([{ detail: 'ndjson, id 7, tag "x, namePart y"' }]);
  });

  test("has the first request of a client that follows the store", async () => {
    const token = await createReader("follows");
    const { next, newest } = await readPlants(service, "after=0&limit=1&tag=bush", token);
    await operatorFetch(service, "/api/plants?after=0", { method: "HEAD", token });
    for (const query of [`after=${next}`, `after=${newest}`, "", "order=oldest"])
      await readPlants(service, query, token);
    expect(await lastAudited(service, 2)).toMatchObject([
      { action: "token.created", subject: "follows" },
      {
        actor: "follows",
        address: "127.0.0.1",
        action: "follow.started",
        subject: "plants",
        detail: 'tag "bush"',
      },
    ]);
  });

  test("has a read that begins after the cursor of an empty store", async () => {
    await using service = await startTestService();
    const { newest: ofEmpty } = await readPlants(service, "");
    expect(ofEmpty).toMatch(/^[0-9a-f]{16}\.0\.0$/);
    await post(service.url, '{"id":1,"name":"Fern"}');
    const { plants } = await readPlants(service, `after=${ofEmpty}`);
    expect(plants).toMatchObject([{ id: "1" }]);
    expect(await lastAudited(service, 10)).toMatchObject([{ action: "follow.started", detail: "" }]);
  });

  test("does not fill up while a program follows an empty store", async () => {
    await using service = await startTestService();
    let { next } = await readPlants(service, "after=0");
    for (let polls = 0; polls < 3; polls++) ({ next } = await readPlants(service, `after=${next}`));
    const { newest } = await readPlants(service, "");
    await readPlants(service, `after=${newest}`);
    expect(await lastAudited(service, 10)).toMatchObject([{ action: "follow.started" }]);
  });

  test("is read in pages", async () => {
    await mintToken(service, { name: "older" });
    await mintToken(service, { name: "newer" });
    const { entries, next } = await readAudit(service, "limit=1");
    expect(entries).toMatchObject([{ subject: "newer" }]);
    const second = await readAudit(service, `limit=1&cursor=${next}`);
    expect(second.entries).toMatchObject([{ subject: "older" }]);
  });

  test.each([
    ["action=token.rotated", []],
    ["action=token.created&actor=preset-operator&limit=1", [{ subject: "filtered" }]],
    ["actor=nobody", []],
    ["since=2999-01-01", []],
    ["until=2001-01-01T00:00:00Z", []],
  ])("is filtered by %s", async (query, expected) => {
    await using service = await startTestService();
    await mintToken(service, { name: "filtered" });
    const { entries } = await readAudit(service, query);
    expect(entries).toMatchObject(expected);
    expect(entries).toHaveLength(expected.length);
  });

  test.each([
    ["limit=1001", 'Parameter "limit" must be an integer from 1 to 1000, but is "1001".'],
    ["action=deleted", 'Parameter "action" must be token.created, token.rotated, '],
    [
      "since=yesterday",
      'Parameter "since" must be a time, such as 2026-11-15 or 2026-11-15T09:30Z, but is "yesterday".',
    ],
    ["by=ops", 'There is no parameter "by" here; expected limit, cursor, action, actor, since, until.'],
  ])("refuses the query %s", async (query, message) => {
    const refused = await operatorGet<{ message: string }>(service, `/api/audit?${query}`);
    expect(refused).toMatchObject({ error: 40031 });
    expect(refused.message).toStartWith(message);
  });

  test.each([
    ["a sign-in with an unknown token", "/api/sign-in", {}, "wrong-token-0123456789"],
    ["a sign-in without the scope", "/api/sign-in", {}, accessToken],
    ["a token with a reserved name", "/api/tokens", { name: "preset" }, operatorToken],
  ])("has no entry for %s", async (_, path, body, token) => {
    const before = await readAudit(service, "limit=1");
    expect(await operatorPost(service, path, body, { token })).toHaveProperty("error");
    expect(await readAudit(service, "limit=1")).toEqual(before);
  });

  // Each with a service of its own: one write that fails makes the store refuse whatever follows.
  test.each([
    ["sign in", "POST", "/api/sign-in"],
    ["export", "GET", "/api/export"],
    ["read from the beginning", "GET", "/api/plants?after=0"],
  ])("that cannot be written lets nobody %s", async (_, method, path) => {
    await using service = await startTestService();
    using database = new Database(service.database);
    database.run("DROP TABLE audit_trail");
    const response = await operatorFetch(service, path, { method });
    expect(await response.json()).toMatchObject({ error: 50001 });
  });
});
