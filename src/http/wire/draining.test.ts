import { afterEach, expect, spyOn, test } from "bun:test";
import { Connection } from "./connection.ts";
import { WireServer } from "./wire-server.ts";

const request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

test("a request that arrives during a stream that said close is not handled", async () => {
  const handled: Connection[] = [];
  const server = new WireServer(
    { host: "127.0.0.1", port: 0, connectionsMax: 10, bodyBytesMax: 1000, bodyTimeoutMs: 5000 },
    { handle: (connection) => void handled.push(connection), refuse() {} },
  );
  stack.defer(async () => void (await server.drain(0)));
  using received = spyOn(Connection.prototype, "receive");
  let ended = false;
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: server.port,
    socket: {
      data() {},
      end() {
        ended = true;
      },
      error() {},
    },
  });
  stack.defer(() => socket.terminate());
  socket.write(request);
  await until(() => handled.length > 0);
  const drained = server.drain(600_000);
  const [connection] = handled;
  expect(connection?.closing).toBe(true);
  connection?.stream("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", { drained() {}, closed() {} });
  socket.write(request);
  await until(() => received.mock.calls.length === 2);
  connection?.finish();
  await until(() => ended || handled.length > 1);
  expect(handled).toHaveLength(1);
  expect(await drained).toBe(true);
}, 90_000);

async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (!condition() && performance.now() < deadlineMs) await Bun.sleep(5);
  expect(condition()).toBe(true);
}
