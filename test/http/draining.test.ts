// How a stop ends connections: what is in flight is answered, and nothing new begins.
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { backupCalls } from "../support/backups.ts";
import { eventually } from "../support/eventually.ts";
import { startHeldPost } from "../support/held-post.ts";
import { memoize } from "../support/memoize.ts";
import { rawPost, sendRaw } from "../support/raw-http.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestService } from "../support/test-service.ts";
import { operatorToken } from "../support/tokens.ts";

/** Sends the next request as soon as the last is answered. Settles with whether a response said close before the end. */
async function sendUntilToldToClose(
  port: number,
  firstId: number,
  client: { answered: number },
): Promise<boolean> {
  let id = firstId;
  let received = "";
  let toldToClose = false;
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const send = () => {
    socket.write(rawPost(`{"id":${id},"name":"a"}`));
    id++;
  };
  socket.on("connect", send);
  socket.on("data", (bytes) => {
    received += bytes;
    if (!received.endsWith('{"name":"a"}')) return;
    client.answered++;
    toldToClose = received.includes("\r\nConnection: close\r\n");
    received = "";
    if (toldToClose) socket.end();
    else send();
  });
  socket.on("error", () => {});
  await new Promise((resolve) => socket.on("close", resolve));
  return toldToClose;
}

describe("a stop under load", () => {
  const clientCount = 16;
  /** What its clients were told, how many plants were acknowledged, and how many are stored. */
  const stopUnderLoad = memoize(async () => {
    await using service = await startTestService({ "drain-timeout": "10m" });
    const clients = Array.from({ length: clientCount }, () => ({ answered: 0 }));
    const ended = clients.map((client, index) =>
      sendUntilToldToClose(service.port, index * 1_000_000, client),
    );
    await eventually(() => clients.every(({ answered }) => answered > 1));
    await service.stop("test");
    const toldToClose = await Promise.all(ended);
    const acknowledged = clients.reduce((sum, client) => sum + client.answered, 0);
    return { toldToClose, acknowledged, stored: storedPlants(service.database).length };
  });

  test("leaves no request without a response", async () => {
    // Whoever was not told to close had a request that was cut.
    const { toldToClose } = await stopUnderLoad();
    expect(toldToClose).toEqual(Array.from({ length: clientCount }, () => true));
  });

  test("stores exactly the plants that it has acknowledged", async () => {
    const { acknowledged, stored } = await stopUnderLoad();
    expect(stored).toBe(acknowledged);
  });
});

test("a stop does not wait longer than the drain timeout", async () => {
  await using service = await startTestService({ "drain-timeout": "1ms" });
  const { finish, response } = await startHeldPost(service.port);
  await service.stop("test");
  finish();
  expect((await response).text).not.toContain("HTTP/1.1 200 ");
  expect(service.logged.join("")).toContain("drain timeout reached");
});

test("a stop that reaches the drain timeout on both listeners logs it once", async () => {
  await using service = await startTestService({ "drain-timeout": "1ms" });
  const toPublic = await startHeldPost(service.port);
  const toOperator = await startHeldPost(Number(new URL(service.operatorUrl).port));
  await service.stop("test");
  toPublic.finish();
  toOperator.finish();
  await Promise.all([toPublic.response, toOperator.response]);
  expect(service.logged.join("").split("drain timeout reached")).toHaveLength(2);
});

describe("a stop during a request whose body is incomplete", () => {
  test("refuses new connections", async () => {
    await using draining = await serveWithHeldPost();
    await draining.stop();
    expect(await isRefused(draining.port)).toBe(true);
    expect(await isRefused(draining.operatorPort)).toBe(true);
  });

  test("finishes the request", async () => {
    await using draining = await serveWithHeldPost();
    await draining.stop();
    draining.finish();
    expect((await draining.response).text).toContain("HTTP/1.1 200 ");
  });

  /** What the operator listener responds to a request during the stop. */
  async function sendDuring(draining: Draining, request: string): Promise<string> {
    const livez = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const authorized = `${request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${operatorToken}\r\n\r\n`;
    // On a connection that the service knows, and that has no request in progress.
    const { text } = await sendRaw(draining.operatorPort, [
      livez,
      (received) => eventually(() => received().includes("live")),
      draining.stop,
      authorized + livez,
    ]);
    return text;
  }
  const refusal = /HTTP\/1\.1 503 .*\r\nConnection: close\r\n.*"error":50303,[^}]*\}$/s;

  test("starts no export", async () => {
    await using draining = await serveWithHeldPost();
    expect(await sendDuring(draining, "GET /api/export")).toMatch(refusal);
  });

  test("starts no backup", async () => {
    using folder = temporaryFolder();
    await using draining = await serveWithHeldPost({ "backup-folder": folder.path });
    expect(await sendDuring(draining, "POST /api/backups")).toMatch(refusal);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("starts no backup whose audit entry has to wait", async () => {
    using folder = temporaryFolder();
    await using draining = await serveWithHeldPost({ "backup-folder": folder.path });
    const { list, send } = backupCalls(draining);
    using lock = new Database(draining.database);
    lock.run("BEGIN IMMEDIATE");
    const sent = send("");
    await eventually(async () => (await list()).task !== undefined);
    await draining.stop();
    lock.run("ROLLBACK");
    expect(await sent).toMatchObject({ status: 503, error: 50303 });
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("starts no verification of a backup", async () => {
    using folder = temporaryFolder();
    await using draining = await serveWithHeldPost({ "backup-folder": folder.path });
    const { name } = await backupCalls(draining).makeBackup();
    expect(await sendDuring(draining, `POST /api/backups/${name}/verify`)).toMatch(refusal);
  });
});

type Draining = Awaited<ReturnType<typeof serveWithHeldPost>>;

/** A service with a request whose body is held back until `finish` is called. It drains for as long as this request lasts. */
async function serveWithHeldPost(flags: Record<string, string> = {}) {
  await using cleanUp = new AsyncDisposableStack();
  const patient = { "drain-timeout": "10m", "body-timeout": "10m" };
  const service = cleanUp.use(await startTestService({ ...patient, ...flags }));
  const operatorPort = Number(new URL(service.operatorUrl).port);
  const { finish, response } = await startHeldPost(service.port);
  cleanUp.defer(() => finish());
  const owned = cleanUp.move();
  return {
    port: service.port,
    operatorPort,
    operatorUrl: service.operatorUrl,
    database: service.database,
    finish,
    response,
    /** Begins the stop, and waits until both listeners are closed. */
    stop: (): Promise<void> => {
      void service.stop("test");
      return eventually(async () => (await isRefused(operatorPort)) && isRefused(service.port));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Whether the port accepts no connection. */
function isRefused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.on("error", () => resolve(true));
  });
}
