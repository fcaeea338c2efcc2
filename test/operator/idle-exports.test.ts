// Exports that nobody reads, and what they leave to others.
import { expect, test } from "bun:test";
import { connect } from "node:net";
import type { AuditPageJson, DownloadLinkJson } from "../../src/operator/responses.ts";
import { eventually } from "../support/eventually.ts";
import { mintToken, operatorFetch, operatorGet, operatorPost } from "../support/operator-requests.ts";
import { post, statusOf } from "../support/post-plants.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

// As `src/operator/exports.ts` has it.
const exportsMax = 8;
// Together far more than the kernel's buffers hold, so that an export that nobody reads does not end.
const plants = 150;
const plantName = "x".repeat(60_000);

/** Starts a service whose plants make an export that is never sent unless it is read. */
async function startWithPlants(): Promise<TestService> {
  await using cleanUp = new AsyncDisposableStack();
  const service = cleanUp.use(await startTestService());
  const ids = Array.from({ length: plants }, (_, index) => index);
  await Promise.all(ids.map((id) => post(service.url, JSON.stringify({ id, name: plantName }))));
  cleanUp.move();
  return service;
}

/**
 * A token that may only read, and exports by it that it does not read until they are disposed of: as many as the service runs.
 * Resolves once half are running.
 */
async function startIdleExports(service: TestService, name: string) {
  const { token, secret } = await mintToken(service, { name, scopes: ["operator:read"] });
  const clients = Array.from({ length: exportsMax }, () => {
    const socket = connect({ port: Number(new URL(service.operatorUrl).port), host: "127.0.0.1" });
    const closed = new Promise((resolve) => socket.on("error", () => {}).on("close", resolve));
    socket.pause();
    socket.write(`GET /api/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\n\r\n`);
    return { socket, closed };
  });
  await eventually(async () => {
    const { entries } = await operatorGet<AuditPageJson>(service, "/api/audit");
    return entries.filter(({ actor }) => actor === name).length >= exportsMax / 2;
  }, "half of the exports to run");
  return {
    tokenId: token.id,
    secret,
    async [Symbol.asyncDispose]() {
      for (const { socket } of clients) socket.resume().end();
      await Promise.all(clients.map(({ closed }) => closed));
    },
  };
}

/** Exports every plant, and returns the status of the response. */
async function exportStatus(service: TestService): Promise<number> {
  const response = await operatorFetch(service, "/api/export");
  await response.arrayBuffer();
  return response.status;
}

test("exports that nobody reads leave half of them to other tokens, and do not use up a link", async () => {
  await using service = await startWithPlants();
  let url = "";
  {
    await using idle = await startIdleExports(service, "reader");
    expect(await operatorGet(service, "/api/export", { token: idle.secret })).toEqual({
      error: 50301,
      message:
        "This token already has 4 exports running, and one token may have at most half of the 8. Try again when one has finished.",
    });
    expect(await exportStatus(service)).toBe(200);
    ({ url } = await operatorPost<DownloadLinkJson>(service, "/api/exports", {}, { token: idle.secret }));
    expect(await statusOf(service.operatorUrl, url)).toBe(503);
  }
  await eventually(async () => (await statusOf(service.operatorUrl, url)) === 200);
});

test("exports that nobody reads end when their token is revoked", async () => {
  await using service = await startWithPlants();
  await using one = await startIdleExports(service, "one");
  await using other = await startIdleExports(service, "other");
  expect(await operatorGet(service, "/api/export")).toMatchObject({
    error: 50301,
    message: "8 exports are already running. Try again when one has finished.",
  });
  for (const { tokenId } of [one, other]) await operatorPost(service, `/api/tokens/${tokenId}/revoke`);
  await eventually(async () => (await exportStatus(service)) === 200, "an export to be possible again");
});
