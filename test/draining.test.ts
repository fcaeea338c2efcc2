import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { onEveryEngine } from "./engines.ts";
import {
  eventually,
  operatorToken,
  type RawResponse,
  rawPost,
  sendRaw,
  startTestService,
  storedPlants,
  type TestService,
  temporaryFolder,
  untilContinue,
} from "./harness.ts";

const connections = 16;
const waitMs = 60_000;

interface Client {
  answered: number;
  /** Sent, and not answered by the time the connection was closed. */
  cut: number;
  toldToClose: boolean;
}

/** A client that sends its next request as soon as the last is answered, or a while later, until a response says close. */
function keepSending(port: number, firstId: number, thinkMs: number): Promise<Client> {
  return new Promise((resolve) => {
    const client: Client = { answered: 0, cut: 0, toldToClose: false };
    let id = firstId;
    let received = "";
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const send = () => {
      client.cut = 1;
      socket.write(rawPost(`{"id":${id++},"name":"a"}`));
    };
    socket.on("connect", send);
    socket.on("data", (bytes) => {
      received += bytes;
      if (!received.endsWith('{"name":"a"}')) return;
      client.answered++;
      client.cut = 0;
      client.toldToClose = received.includes("\r\nConnection: close\r\n");
      received = "";
      if (client.toldToClose) socket.end();
      else if (thinkMs > 0) setTimeout(send, thinkMs);
      else send();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(client));
  });
}

onEveryEngine((engine) => {
  for (const thinkMs of [0, 20]) {
    test(`a stop under load leaves no request without a response, with ${thinkMs} ms between requests`, async () => {
      for (let round = 0; round < 3; round++) {
        await using running = await engine.start();
        const clients = Array.from({ length: connections }, (_, index) =>
          keepSending(running.port, index * 1_000_000, thinkMs),
        );
        await Bun.sleep(200);
        await running.service.close("test");
        const ended = await Promise.all(clients);
        expect(ended.filter(({ cut }) => cut > 0)).toEqual([]);
        expect(ended.filter(({ toldToClose }) => !toldToClose)).toEqual([]);
        const answered = ended.reduce((sum, client) => sum + client.answered, 0);
        expect(await engine.stored(running.database)).toHaveLength(answered);
      }
    });
  }
});

test("pipelined requests all get responses while stopping, and the last one says close", async () => {
  await using running = await startTestService();
  const requests = Array.from({ length: 20 }, (_, id) => rawPost(`{"id":${id},"name":"a"}`));
  const sending = sendRaw(running.port, ["\r\n", 150, requests.join("")]);
  await Bun.sleep(50);
  await running.service.close("test");
  const { text, closed } = await sending;
  expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(20);
  expect(text.match(/Connection: close/g)).toHaveLength(1);
  expect(closed).toBe(true);
});

test("a request on an idle connection is answered within the second that follows, and then the connection closes", async () => {
  await using running = await startTestService();
  const late = sendRaw(running.port, ["\r\n", 400, rawPost('{"id":1,"name":"a"}')]);
  await Bun.sleep(50);
  await running.service.close("test");
  const { text, closed } = await late;
  expect([text.slice(0, 15), text.includes("\r\nConnection: close\r\n"), closed]).toEqual([
    "HTTP/1.1 200 OK",
    true,
    true,
  ]);
});

test("an idle connection delays a stop by a second, and never beyond the drain timeout", async () => {
  for (const [timeout, longestMs] of [
    ["10s", 2000],
    ["100ms", 700],
  ] as const) {
    await using running = await startTestService({ "drain-timeout": timeout });
    const idle = sendRaw(running.port, ["\r\n"]);
    await Bun.sleep(50);
    const startMs = performance.now();
    await running.service.close("test");
    expect(performance.now() - startMs).toBeLessThan(longestMs);
    expect((await idle).closed).toBe(true);
    expect(running.logged.join("")).not.toContain("drain timeout reached");
  }
});

describe("once the drain has begun", () => {
  const testMs = 90_000;
  const authorization = `Authorization: Bearer ${operatorToken}`;

  test(
    "no export, download or import starts, and what is short still gets a response",
    async () => {
      using backups = temporaryFolder();
      await using running = await startTestService({ "drain-timeout": "10m", "backup-folder": backups.path });
      const port = Number(new URL(running.operatorUrl).port);
      await operatorPost(running, "/api/backups", {});
      const name = await finishedBackup(running);
      const { url: toBackup = "" } = await operatorPost(running, `/api/backups/${name}/link`, {});
      const { url: toExport = "" } = await operatorPost(running, "/api/exports", {});
      const { secret } = await operatorPost(running, "/api/tokens", {
        name: "importer",
        scopes: ["plants:create", "operator:read"],
      });
      const [started, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let open = 0;
      // A connection that the service knows, and that has no request in progress.
      const begin = [
        "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
        (received: () => string) => eventually(() => received().includes("live"), waitMs),
        () => {
          open++;
          return started.promise;
        },
      ];
      const send = async (request: string): Promise<RawResponse> => {
        const { text, closed } = await sendRaw(port, [...begin, request]);
        return { text: text.slice(text.indexOf("}") + 1), closed };
      };
      const long = [
        `GET /api/export HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n\r\n`,
        `GET ${toExport} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
        `GET ${toBackup} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
        `POST /api/imports HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\nContent-Length: 3\r\n\r\n{}\n`,
      ];
      const refused = long.map((request) => send(`${request}GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n`));
      const audited = send(`GET /api/audit HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n\r\n`);
      // The drain lasts as long as this request.
      const [head, body] = rawPost('{"id":1,"name":"a"}', "Expect: 100-continue\r\n").split(/(?<=\r\n\r\n)/);
      const created = sendRaw(running.port, [head ?? "", untilContinue, () => ended.promise, body ?? ""]);
      await eventually(() => open === long.length + 1, waitMs);
      const closed = running.service.close("test");
      await eventually(() => isRefused(port), waitMs);
      started.resolve();
      for (const response of await Promise.all(refused)) {
        expect(response).toEqual({
          text: expect.stringMatching(/^HTTP\/1\.1 503 .*\r\nConnection: close\r\n.*"error":50303,[^}]*\}$/s),
          closed: true,
        });
      }
      const { text } = await audited;
      expect(text).toStartWith("HTTP/1.1 200 ");
      expect(text).not.toMatch(/export\.started|backup\.downloaded|import\.started/);
      ended.resolve();
      expect((await created).text).toContain("HTTP/1.1 200 ");
      await closed;
      expect(running.logged.join("")).not.toContain("drain timeout reached");
    },
    testMs,
  );

  test(
    "an import that is in progress ends with its next row",
    async () => {
      await using running = await startTestService({ "drain-timeout": "10m" });
      const { secret } = await operatorPost(running, "/api/tokens", {
        name: "slow",
        scopes: ["plants:create", "operator:read"],
        rateLimit: "1/s",
      });
      const rows = Array.from({ length: 300 }, (_, id) => `{"id":${id},"name":"Slow"}\n`).join("");
      const importing = fetch(`${running.operatorUrl}/api/imports?name=slow.ndjson`, {
        method: "POST",
        headers: { Authorization: `Bearer ${secret}` },
        body: rows,
      });
      await eventually(() => storedPlants(running.database).length > 0, waitMs);
      await running.service.close("test");
      const response = await importing;
      expect([response.headers.get("connection"), await response.json()]).toEqual([
        "close",
        expect.objectContaining({ error: 50303 }),
      ]);
      expect(running.logged.join("")).not.toContain("drain timeout reached");
    },
    testMs,
  );
});

async function operatorPost({ operatorUrl }: TestService, path: string, body: object) {
  const headers = { Authorization: `Bearer ${operatorToken}` };
  const response = await fetch(operatorUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as { url?: string; secret?: string };
}

async function finishedBackup({ operatorUrl }: TestService): Promise<string> {
  let name: string | undefined;
  await eventually(async () => {
    const response = await fetch(`${operatorUrl}/api/backups`, {
      headers: { Authorization: `Bearer ${operatorToken}` },
    });
    name = ((await response.json()) as { last?: { name: string } }).last?.name;
    return name !== undefined;
  }, waitMs);
  return name ?? "";
}

/** Whether the port accepts no connection. */
function isRefused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("connect", () => resolve(false));
    socket.on("error", () => resolve(true));
    socket.on("close", () => socket.destroy());
  });
}
