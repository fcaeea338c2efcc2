import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Socket } from "bun";
import type { Connection } from "./connection.ts";
import { type TlsMaterial, WireServer } from "./wire-server.ts";

// The server's own clock is set forward here, so that its real limits are seen without waiting for them.
let clockMs = 0;
const huge = "x".repeat(16 * 1024 * 1024);
const certificates = `${import.meta.dir}/../../../test/certificates`;
const material: TlsMaterial = {
  cert: readFileSync(`${certificates}/localhost.pem`, "utf8"),
  key: readFileSync(`${certificates}/localhost.key`, "utf8"),
  clientCa: undefined,
};
const server = (tls: TlsMaterial | undefined) =>
  new WireServer(
    {
      host: "127.0.0.1",
      port: 0,
      connectionsMax: 1000,
      bodyBytesMax: 1000,
      bodyTimeoutMs: 5_000,
      now: () => clockMs,
      tls,
    },
    {
      handle: (connection, { path }) => answer(connection, path === "/huge" ? huge : "ok"),
      refuse: fault,
    },
  );
const started: AsyncDisposableStack[] = [];
afterEach(async () => {
  for (const stack of started.splice(0)) await stack.disposeAsync();
});

function answer(connection: Connection, body: string): void {
  const text = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  connection.send(text, text.length);
}

function fault(connection: Connection): void {
  answer(connection, "fault");
}

interface Client {
  readonly socket: Socket;
  received: number;
  closed: boolean;
}

async function connected(tls: TlsMaterial | undefined, clientTls = tls !== undefined) {
  const running = server(tls);
  const handshake = Promise.withResolvers<void>();
  const stack = new AsyncDisposableStack();
  stack.defer(async () => void (await running.drain(0)));
  started.push(stack);
  const seen = { received: 0, closed: false };
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: running.port,
    allowHalfOpen: true,
    ...(clientTls && { tls: { rejectUnauthorized: false } }),
    socket: {
      handshake: () => handshake.resolve(),
      data(_, bytes) {
        seen.received += bytes.length;
      },
      close() {
        seen.closed = true;
      },
      error() {},
    },
  });
  stack.defer(() => socket.terminate());
  if (clientTls) await handshake.promise;
  const client: Client = Object.assign(seen, { socket });
  const passSeconds = async (seconds: number) => {
    clockMs += seconds * 1000;
    while (running.nowMs !== clockMs) await Bun.sleep(5);
    await Bun.sleep(20);
  };
  const send = async (text: string) => {
    socket.write(text);
    await Bun.sleep(30);
  };
  return { client, passSeconds, send };
}

describe.each([
  ["TCP", undefined],
  ["TLS", material],
] as const)("over %s,", (_, tls) => {
  test("a connection without a request is closed after 75 seconds", async () => {
    const { client, passSeconds } = await connected(tls);
    await passSeconds(70);
    expect(client.closed).toBe(false);
    await passSeconds(6);
    // Over TLS it ends at the next sweep, since this client does not end its half.
    await eventuallyClosed(client);
  });

  test("an empty line in two segments is not a request, and does not change the deadline", async () => {
    const { client, passSeconds, send } = await connected(tls);
    await send("\r");
    await passSeconds(20);
    expect(client.closed).toBe(false);
    await send("\n");
    await passSeconds(40);
    expect(client.closed).toBe(false);
    await send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    while (client.received === 0) await Bun.sleep(5);
  });

  test("a connection whose head is not complete after 10 seconds is closed", async () => {
    const { client, passSeconds, send } = await connected(tls);
    await send("GET / HTTP/1.1\r\nHost: h\r\n");
    await passSeconds(9);
    await send("X: y\r\n");
    expect(client.closed).toBe(false);
    await passSeconds(2);
    expect(client.closed).toBe(true);
  });

  test("a client that does not read its response is disconnected after 30 seconds", async () => {
    const { client, passSeconds, send } = await connected(tls);
    client.socket.pause();
    await send("GET /huge HTTP/1.1\r\nHost: h\r\n\r\n");
    await passSeconds(29);
    await passSeconds(2);
    client.socket.resume();
    await eventuallyClosed(client);
    expect(client.received).toBeLessThan(huge.length);
  });

  test("a client that reads late, but in time, gets the entire response", async () => {
    const { client, passSeconds, send } = await connected(tls);
    client.socket.pause();
    await send("GET /huge HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    await passSeconds(29);
    client.socket.resume();
    await eventuallyClosed(client);
    expect(client.received).toBeGreaterThan(huge.length);
  });
});

test("a TLS handshake that does not start is aborted after 10 seconds", async () => {
  const { client, passSeconds } = await connected(material, false);
  await passSeconds(9);
  expect(client.closed).toBe(false);
  await passSeconds(2);
  await eventuallyClosed(client);
});

async function eventuallyClosed(client: Client): Promise<void> {
  const deadlineMs = performance.now() + 10_000;
  while (!client.closed && performance.now() < deadlineMs) await Bun.sleep(10);
  expect(client.closed).toBe(true);
}
