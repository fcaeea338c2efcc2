import { afterEach, expect, test } from "bun:test";
import type { Socket } from "bun";
import { OpenStreams } from "./streaming.ts";
import { WireServer } from "./wire/wire-server.ts";

const pieceCharacters = 256 * 1024;
// The server's own clock is set forward here, so that its real limits are seen without waiting for them.
let clockMs = 0;
let isAllowed = true;
let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
  isAllowed = true;
});

/** A server whose `/stream` is sent piece by piece, and one client of it. */
async function connected(pieces: number) {
  const streams = new OpenStreams();
  const seen = { pieces: 0, isWaiting: false, ended: 0 };
  const server = new WireServer(
    {
      host: "127.0.0.1",
      port: 0,
      connectionsMax: 10,
      bodyBytesMax: 1000,
      bodyTimeoutMs: 5000,
      now: () => clockMs,
    },
    {
      async handle(connection, { path, isHttp11 }) {
        if (path !== "/stream") return connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 38);
        const stream = streams.start(connection, isHttp11, () => isAllowed);
        stream.onEnd = () => seen.ended++;
        connection.stream("HTTP/1.1 200 OK\r\n\r\n", stream);
        for (; seen.pieces < pieces && stream.open; seen.pieces++) {
          seen.isWaiting = true;
          await stream.write("x".repeat(pieceCharacters));
          seen.isWaiting = false;
        }
        stream.end();
      },
      refuse() {},
    },
  );
  stack.defer(async () => void (await server.drain(0)));
  const client = { text: "", closed: false };
  const socket: Socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: server.port,
    socket: {
      data(_, bytes) {
        client.text += bytes.toString("latin1");
      },
      close() {
        client.closed = true;
      },
      error() {},
    },
  });
  stack.defer(() => socket.terminate());
  const passSeconds = async (seconds: number) => {
    clockMs += seconds * 1000;
    while (server.nowMs !== clockMs) await Bun.sleep(5);
    await Bun.sleep(20);
  };
  return { client, socket, seen, passSeconds };
}

async function until(condition: () => boolean): Promise<void> {
  for (let waitedMs = 0; !condition() && waitedMs < 10_000; waitedMs += 5) await Bun.sleep(5);
  expect(condition()).toBe(true);
}

test("a stream arrives complete, in chunks, and the next request on the connection is handled after it", async () => {
  const { client, socket, seen } = await connected(8);
  socket.write("GET /stream HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n");
  await until(() => client.text.endsWith("0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  expect(client.text.replaceAll(/[^x]/g, "").length).toBe(8 * pieceCharacters);
  expect(client.text).toContain(`\r\n${pieceCharacters.toString(16)}\r\nx`);
  expect([seen.ended, client.closed]).toEqual([1, false]);
});

test("HTTP/1.0 has no chunks: the end of the connection is the end of the stream", async () => {
  const { client, socket } = await connected(8);
  socket.write("GET /stream HTTP/1.0\r\nHost: h\r\n\r\n");
  await until(() => client.closed);
  expect(client.text).toBe(`HTTP/1.1 200 OK\r\n\r\n${"x".repeat(8 * pieceCharacters)}`);
});

test("a client that does not read is disconnected after 30 seconds, even if its stream is endless", async () => {
  const { socket, seen, passSeconds } = await connected(Number.POSITIVE_INFINITY);
  socket.pause();
  socket.write("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  await until(() => seen.isWaiting);
  await passSeconds(29);
  expect(seen.ended).toBe(0);
  await passSeconds(2);
  await until(() => seen.ended === 1);
});

test("a client that reads slowly gets all of it", async () => {
  const { client, socket, seen, passSeconds } = await connected(60);
  socket.write("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  while (seen.ended === 0) {
    socket.pause();
    await passSeconds(20);
    const before = seen.pieces;
    socket.resume();
    // Not what the client has read: the server sees that only once the kernel has room for much more.
    await until(() => seen.pieces > before + 1 || seen.ended === 1);
  }
  await until(() => client.text.endsWith("0\r\n\r\n"));
  expect(seen.ended).toBe(1);
});

test.each(["reads", "does not read"])(
  "a stream that is no longer allowed ends, where its client %s",
  async (reads) => {
    const { client, socket, seen } = await connected(Number.POSITIVE_INFINITY);
    if (reads === "does not read") socket.pause();
    socket.write("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    await until(() => seen.pieces > 0);
    isAllowed = false;
    await until(() => seen.ended === 1);
    socket.resume();
    await until(() => client.closed);
    expect(client.text).not.toEndWith("0\r\n\r\n");
  },
);

test("a stream whose client goes away ends", async () => {
  const { socket, seen } = await connected(Number.POSITIVE_INFINITY);
  socket.pause();
  socket.write("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  await until(() => seen.isWaiting);
  socket.terminate();
  await until(() => seen.ended === 1);
});
