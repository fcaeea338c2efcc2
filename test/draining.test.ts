import { expect, test } from "bun:test";
import { connect } from "node:net";
import { onEveryEngine } from "./engines.ts";
import { rawPost, sendRaw, startTestService } from "./harness.ts";

const connections = 16;

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
  const sending = sendRaw(running.port, ["\r\n", 150, requests.join("")], 1500);
  await Bun.sleep(50);
  await running.service.close("test");
  const { text, closed } = await sending;
  expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(20);
  expect(text.match(/Connection: close/g)).toHaveLength(1);
  expect(closed).toBe(true);
});

test("a request on an idle connection is answered within the second that follows, and then the connection closes", async () => {
  await using running = await startTestService();
  const late = sendRaw(running.port, ["\r\n", 400, rawPost('{"id":1,"name":"a"}')], 1500);
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
    const idle = sendRaw(running.port, ["\r\n"], 3000);
    await Bun.sleep(50);
    const startMs = performance.now();
    await running.service.close("test");
    expect(performance.now() - startMs).toBeLessThan(longestMs);
    expect((await idle).closed).toBe(true);
    expect(running.logged.join("")).not.toContain("drain timeout reached");
  }
});
