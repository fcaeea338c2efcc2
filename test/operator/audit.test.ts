// The audit trail through the operator API: what it has entries for, how they are read, and how many one caller may cause.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type {
  AuditPageJson,
  CallerJson,
  DownloadLinkJson,
  FollowPageJson,
} from "../../src/operator/responses.ts";
import { startWithBackups } from "../support/backups.ts";
import { advancedClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import {
  lastAudited,
  listTokens,
  mintToken,
  operatorFetch,
  operatorGet,
  operatorPost,
} from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { operatorToken } from "../support/tokens.ts";

// The tests share a service and its plants. Each acts as a token of its own, or reads the entries that it caused last.
const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());

beforeAll(async () => {
  await post(service.url, '{"id":1,"name":"Rose","tag":"bush"}');
  await post(service.url, '{"id":2,"name":"Lilac","tag":"bush"}');
});

const readPlants = (service: TestService, query: string, token = operatorToken) =>
  operatorGet<FollowPageJson>(service, `/api/plants?${query}`, { token });
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

  test("has an export with its filters, unlike a request for its head", async () => {
    const secret = await createReader("exports");
    const query = new URLSearchParams({ tag: "x, namePart y", id: "7" });
    await operatorFetch(service, `/api/export?${query}`, { method: "HEAD", token: secret });
    await (await operatorFetch(service, `/api/export?${query}`, { token: secret })).arrayBuffer();
    const detail = 'ndjson, id 7, tag "x, namePart y"';
    expect(await lastAudited(service, 2)).toMatchObject([
      { action: "token.created", subject: "exports" },
      { actor: "exports", address: "127.0.0.1", action: "export.started", detail },
    ]);
  });

  test("has the first request of a client that follows the store", async () => {
    const token = await createReader("follows");
    const { next } = await readPlants(service, "after=0&limit=1&tag=bush", token);
    await operatorFetch(service, "/api/plants?after=0", { method: "HEAD", token });
    for (const query of [`after=${next}`, "after=now", "", "order=oldest"])
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

  test("has one entry of a program that follows a store from when it is empty", async () => {
    await using service = await startTestService();
    let { next } = await readPlants(service, "after=0");
    expect(next).toMatch(/^[0-9a-f]{16}\.0\.0$/);
    for (let polls = 0; polls < 3; polls++) ({ next } = await readPlants(service, `after=${next}`));
    await readPlants(service, "after=now");
    expect(await lastAudited(service, 10)).toMatchObject([{ action: "follow.started" }]);

    // This read begins at the first plant too.
    await post(service.url, '{"id":1,"name":"Fern"}');
    expect((await readPlants(service, `after=${next}`)).plants).toMatchObject([{ id: "1" }]);
    expect(await lastAudited(service, 10)).toMatchObject([
      { action: "follow.started" },
      { action: "follow.started", detail: "" },
    ]);
  });

  test("is read in pages, and filtered", async () => {
    await using service = await startTestService();
    await mintToken(service, { name: "older" });
    await mintToken(service, { name: "newer" });
    const { entries, next } = await readAudit(service, "limit=1");
    expect(entries).toMatchObject([{ subject: "newer" }]);
    const second = await readAudit(service, `limit=1&cursor=${next}`);
    expect(second.entries).toMatchObject([{ subject: "older" }]);

    const subjectsOf = async (query: string) =>
      (await readAudit(service, query)).entries.map(({ subject }) => subject);
    expect(await subjectsOf("action=token.created&actor=preset-operator&limit=1")).toEqual(["newer"]);
    for (const query of [
      "action=token.rotated",
      "actor=nobody",
      "since=2999-01-01",
      "until=2001-01-01T00:00:00Z",
    ])
      expect({ query, found: await subjectsOf(query) }).toEqual({ query, found: [] });
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

const actionsAtOnce = 60;

function signIn(service: TestService, token: string): Promise<Response> {
  return operatorFetch(service, "/api/sign-in", { method: "POST", token });
}

test("actions beyond 60 per minute are refused with 42901 and leave no entry, unlike a revocation", async () => {
  await using service = await startTestService();
  const { secret: token } = await mintToken(service, { name: "reader", scopes: ["operator"] });
  const startedMs = performance.now();
  const responses = [];
  for (let count = 0; count < 3 * actionsAtOnce; count++) responses.push(await signIn(service, token));
  const seconds = (performance.now() - startedMs) / 1000;
  const accepted = responses.filter(({ status }) => status === 200).length;
  expect(accepted).toBeGreaterThanOrEqual(actionsAtOnce);
  expect(accepted).toBeLessThanOrEqual(actionsAtOnce + Math.ceil(seconds));
  using database = new Database(service.database, { readonly: true });
  const sql = "SELECT count(*) AS entries FROM audit_trail WHERE actor = 'reader'";
  expect(database.query(sql).get()).toEqual({ entries: accepted });

  const refused = responses.find(({ status }) => status !== 200);
  expect(refused?.status).toBe(429);
  expect(refused?.headers.get("retry-after")).toBe("1");
  expect(await refused?.json()).toMatchObject({ error: 42901 });
  // What is lost can be revoked; whatever makes another secret is refused, as soon as some of the limit is not free again.
  const { id } = (await mintToken(service, { name: "lost" })).token;
  await eventually(
    async () =>
      (await operatorPost<{ error?: number }>(service, "/api/tokens", { name: "new" }, { token })).error ===
      42901,
  );
  await eventually(
    async () =>
      (await operatorPost<{ error?: number }>(service, `/api/tokens/${id}/rotate`, {}, { token })).error ===
      42901,
  );
  await operatorPost(service, `/api/tokens/${id}/revoke`, {}, { token });
  expect((await listTokens(service)).find((one) => one.id === id)?.state).toBe("revoked");
});

test("a download link that is refused for the same limit still works later", async () => {
  await using service = await startWithBackups();
  using clock = advancedClock();
  const { name } = await service.makeBackup();
  const { secret: token } = await mintToken(service, { name: "reader", scopes: ["operator"] });
  for (const path of ["/api/exports", `/api/backups/${name}/link`]) {
    let link = "";
    await eventually(async () => {
      const { url } = await operatorPost<DownloadLinkJson>(service, path, {}, { token });
      link = service.operatorUrl + url;
      // On a slow machine, some of the limit is free again meanwhile.
      await eventually(async () => (await signIn(service, token)).status === 429, "the limit", 0);
      return (await fetch(link)).status === 429;
    }, `429 for a link of ${path}`);
    clock.advance(2000);
    expect((await fetch(link)).status).toBe(200);
  }
});
