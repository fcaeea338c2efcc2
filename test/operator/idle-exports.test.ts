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

/**
 * A token that may only read, and clients that ask for as many exports by it as the service runs, and read none. Resolves once
 * half are running.
 */
async function startIdleExports(service: TestService, name: string) {
  const { token, secret } = await mintToken(service, { name, scopes: ["operator:read"] });
  const sockets = Array.from({ length: exportsMax }, () => {
    const socket = connect({ port: Number(new URL(service.operatorUrl).port), host: "127.0.0.1" });
    socket.on("error", () => {}).pause();
    socket.write(`GET /api/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\n\r\n`);
    return socket;
  });
  await eventually(async () => {
    const { entries } = await operatorGet<AuditPageJson>(service, "/api/audit");
    return entries.filter(({ actor }) => actor === name).length >= exportsMax / 2;
  }, "half of the exports to run");
  const destroy = () => sockets.forEach((socket) => void socket.destroy());
  return { tokenId: token.id, secret, [Symbol.dispose]: destroy };
}

/** Exports every plant, and returns the status of the response. */
async function exportStatus(service: TestService): Promise<number> {
  const response = await operatorFetch(service, "/api/export");
  await response.arrayBuffer();
  return response.status;
}

test("exports that nobody reads leave half of them to others, and end when their token is revoked", async () => {
  await using service = await startTestService();
  const ids = Array.from({ length: plants }, (_, index) => index);
  await Promise.all(ids.map((id) => post(service.url, JSON.stringify({ id, name: plantName }))));

  using one = await startIdleExports(service, "one");
  expect(await operatorGet(service, "/api/export", { token: one.secret })).toEqual({
    error: 50301,
    message:
      "This token already has 4 exports running, and one token may have at most half of the 8. Try again when one has finished.",
  });
  expect(await exportStatus(service)).toBe(200);

  using other = await startIdleExports(service, "other");
  const { url } = await operatorPost<DownloadLinkJson>(service, "/api/exports");
  expect(await operatorGet(service, url)).toMatchObject({
    error: 50301,
    message: "8 exports are already running. Try again when one has finished.",
  });
  for (const { tokenId } of [one, other]) await operatorPost(service, `/api/tokens/${tokenId}/revoke`);
  // The link was not used up.
  await eventually(async () => (await statusOf(service.operatorUrl, url)) === 200, "the link to work");
});
