// How a stop ends connections: what is in flight is answered, and nothing new begins.
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { backupCalls } from "../support/backups.ts";
import { eventually } from "../support/eventually.ts";
import { startHeldPost } from "../support/held-post.ts";
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

test("a stop under load answers every request, and stores exactly the plants that it acknowledged", async () => {
  await using service = await startTestService({ "drain-timeout": "10m" });
  const clients = Array.from({ length: 16 }, () => ({ answered: 0 }));
  const ended = clients.map((client, index) => sendUntilToldToClose(service.port, index * 1_000_000, client));
  await eventually(() => clients.every(({ answered }) => answered > 1));
  await service.stop("test");
  // Whoever was not told to close had a request that was cut.
  expect(await Promise.all(ended)).toEqual(clients.map(() => true));
  const acknowledged = clients.reduce((sum, client) => sum + client.answered, 0);
  expect(storedPlants(service.database)).toHaveLength(acknowledged);
});

test("a stop does not wait longer than the drain timeout, which it logs once for both listeners", async () => {
  await using service = await startTestService({ "drain-timeout": "1ms" });
  const toPublic = await startHeldPost(service.port);
  const toOperator = await startHeldPost(Number(new URL(service.operatorUrl).port));
  await service.stop("test");
  toPublic.finish();
  toOperator.finish();
  expect((await toPublic.response).text).not.toContain("HTTP/1.1 200 ");
  expect((await toOperator.response).text).not.toContain("HTTP/1.1 200 ");
  expect(service.logged.join("").split("drain timeout reached")).toHaveLength(2);
});

describe("a stop during a request whose body is incomplete", () => {
  test("refuses new connections, and finishes the request", async () => {
    await using draining = await serveWithHeldPost();
    await draining.stop();
    expect(await isRefused(draining.port)).toBe(true);
    expect(await isRefused(draining.operatorPort)).toBe(true);
    draining.finish();
    expect((await draining.response).text).toContain("HTTP/1.1 200 ");
  });

  test("starts no export and no backup", async () => {
    using folder = temporaryFolder();
    await using draining = await serveWithHeldPost({ "backup-folder": folder.path });
    const routes = ["GET /api/export", "POST /api/backups"];
    const livez = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const authorization = `Authorization: Bearer ${operatorToken}`;
    const stopped = Promise.withResolvers<void>();
    let known = 0;
    const responses = routes.map(async (route) => {
      const { text } = await sendRaw(draining.operatorPort, [
        // So that the service knows the connection, which then has no request in progress.
        livez,
        (received) => eventually(() => received().includes("live")),
        () => {
          known++;
          return stopped.promise;
        },
        `${route} HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n\r\n${livez}`,
      ]);
      return text;
    });
    await eventually(() => known === routes.length);
    await draining.stop();
    stopped.resolve();
    const refusal = expect.stringMatching(
      /HTTP\/1\.1 503 .*\r\nConnection: close\r\n.*"error":50303,[^}]*\}$/s,
    );
    expect(await Promise.all(responses)).toEqual(routes.map(() => refusal));
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("starts no backup whose audit entry has to wait", async () => {
    using folder = temporaryFolder();
    await using draining = await serveWithHeldPost({ "backup-folder": folder.path });
    const { list, send } = backupCalls(draining);
    using lock = new Database(draining.database);
    lock.run("BEGIN IMMEDIATE");
    const sent = send("");
    await eventually(async () => (await list()).isRunning);
    await draining.stop();
    lock.run("ROLLBACK");
    expect(await sent).toMatchObject({ status: 503, error: 50303 });
    expect(readdirSync(folder.path)).toEqual([]);
  });
});

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
