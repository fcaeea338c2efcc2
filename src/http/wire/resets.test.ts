import { expect, test } from "bun:test";
import type { Socket } from "bun";
import { Connection } from "./connection.ts";
import { WireServer } from "./wire-server.ts";

const request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const connectionsMax = 4;

// Client and server share a thread here: the reset arrives after the request was read and before its answer is written.
test("a connection that its client resets is released at once", async () => {
  let client: Socket | undefined;
  let handled = 0;
  let closedForAnother = 0;
  const server = new WireServer(
    {
      host: "127.0.0.1",
      port: 0,
      connectionsMax,
      onLimitReached: () => closedForAnother++,
      bodyBytesMax: 1000,
      bodyTimeoutMs: 60_000,
    },
    {
      handle(connection) {
        handled++;
        client?.terminate();
        connection.send(answer, answer.length);
      },
      refuse() {},
    },
  );

  const clients = connectionsMax * 3;
  for (let count = 1; count <= clients; count++) {
    client = await Bun.connect({
      hostname: "127.0.0.1",
      port: server.port,
      socket: { data() {}, error() {} },
    });
    client.write(request.repeat(5));
    while (handled < count && closedForAnother === 0) await Bun.sleep(1);
  }
  // The rest of the pipelined requests has nobody to be answered to.
  expect(handled).toBe(clients);
  client = undefined;
  expect((await fetch(`http://127.0.0.1:${server.port}/`)).status).toBe(200);
  expect(closedForAnother).toBe(0);
  // A dead connection would count as busy until its 30 seconds are over.
  expect(await server.drain(5_000)).toBe(true);
});

test("a connection that its client resets while it reads a long response is released at once", async () => {
  const long = `HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 24}\r\n\r\n${"x".repeat(2 ** 24)}`;
  const handlers = { handle: (to: Connection) => to.send(long, long.length), refuse() {} };
  const limits = { bodyBytesMax: 1000, bodyTimeoutMs: 60_000 };
  const drained = Promise.withResolvers<void>();
  let closed = 0;
  let client: Socket | undefined;
  using listener = Bun.listen<Connection>({
    hostname: "127.0.0.1",
    port: 0,
    allowHalfOpen: true,
    socket: {
      binaryType: "buffer",
      open(socket) {
        socket.data = new Connection(socket, handlers, limits, { nowMs: 0 });
      },
      data(socket, bytes) {
        socket.data.receive(bytes);
        client?.resume();
      },
      drain(socket) {
        client?.terminate();
        socket.data.drained();
        drained.resolve();
      },
      close(socket) {
        closed++;
        socket.data.closed();
      },
      error() {},
    },
  });
  client = await Bun.connect({
    hostname: "127.0.0.1",
    port: listener.port,
    socket: { data() {}, error() {} },
  });
  client.pause();
  client.write(request);
  await drained.promise;
  expect(closed).toBe(1);
  await Bun.sleep(50);
  expect(closed).toBe(1);
});
