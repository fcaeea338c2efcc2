import { afterEach, expect, test } from "bun:test";
import type { Socket } from "bun";
import type { Connection } from "./connection.ts";
import { WireServer } from "./wire-server.ts";

// The server's own clock is set forward here, so that its real limits are seen without waiting for them.
let clockMs = 0;
const bodyTimeoutMs = 5000;
const waitMsMax = 60_000;
const sized = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc";
const chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

interface Ends {
  readonly socket: Socket;
  readonly server: WireServer;
  readonly connection: Connection;
}

const interruptions: Readonly<Record<string, { request: string; interrupt: (ends: Ends) => unknown }>> = {
  "whose client closes the connection": { request: sized, interrupt: ({ socket }) => socket.end() },
  "whose client closes its half": { request: sized, interrupt: ({ socket }) => socket.shutdown() },
  "whose client resets the connection": { request: chunked, interrupt: ({ socket }) => socket.terminate() },
  "that stalls": {
    request: sized,
    interrupt: () => {
      clockMs += bodyTimeoutMs;
    },
  },
  "that grows too large": { request: chunked, interrupt: ({ socket }) => socket.write("ffff\r\n") },
  "with an invalid chunk": { request: chunked, interrupt: ({ socket }) => socket.write("x\r\n") },
  "that is in progress when the drain times out": {
    request: sized,
    interrupt: ({ server }) => server.drain(0),
  },
  "whose connection the service closes": {
    request: chunked,
    interrupt: ({ connection }) => connection.close(),
  },
};

for (const [which, { request, interrupt }] of Object.entries(interruptions)) {
  test(`a body ${which} fails once, and never arrives`, async () => {
    const { ends, read } = await started(request);
    read();
    await interrupt(ends);
    await until(() => outcomes.length > 0);
    await ends.server.drain(0);
    expect(outcomes).toEqual(["failed"]);
  });
}

test("a body that is over the limit by its length fails once", async () => {
  const { read } = await started("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n");
  read();
  expect(outcomes).toEqual(["failed"]);
});

test("a body that is asked for after its client has gone away fails once", async () => {
  const { ends, read } = await started(sized);
  ends.connection.close();
  await until(() => closed);
  read();
  expect(outcomes).toEqual(["failed"]);
});

test("a body that arrives does not fail when its client goes away later", async () => {
  const { ends, read } = await started(sized);
  read();
  ends.socket.write("defghij");
  await until(() => outcomes.length > 0);
  await ends.server.drain(0);
  expect(outcomes).toEqual(["abcdefghij"]);
});

let outcomes: string[] = [];
let closed = false;

/** A server that has got this request, and reads its body when told to. */
async function started(request: string): Promise<{ ends: Ends; read: () => void }> {
  [outcomes, closed] = [[], false];
  const handling = Promise.withResolvers<Connection>();
  const respond = (connection: Connection) =>
    connection.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", 47);
  const server = new WireServer(
    {
      ...{ host: "127.0.0.1", port: 0, connectionsMax: 10, bodyBytesMax: 1000, bodyTimeoutMs },
      now: () => clockMs,
      onConnections: (open) => {
        closed = open === 0;
      },
    },
    { handle: handling.resolve, refuse: respond },
  );
  stack.defer(async () => void (await server.drain(0)));
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: server.port,
    allowHalfOpen: true,
    socket: { data() {}, error() {} },
  });
  stack.defer(() => socket.terminate());
  socket.write(request);
  const connection = await handling.promise;
  const read = () =>
    connection.readBody({
      bodyReceived: (body) => outcomes.push(body.toString()),
      bodyNotReceived(fault) {
        outcomes.push("failed");
        if (fault !== undefined) respond(connection);
      },
    });
  return { ends: { socket, server, connection }, read };
}

async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + waitMsMax;
  while (!condition() && performance.now() < deadlineMs) await Bun.sleep(5);
  expect(condition()).toBe(true);
}
