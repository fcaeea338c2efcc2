import { expect, test } from "bun:test";
import { eventually } from "../../test/support/eventually.ts";
import { emptyResponse, TestWire } from "../../test/support/wire.ts";
import { OpenResponses } from "./streaming.ts";

const pieceCharacters = 256 * 1024;
const request = "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n";

/** A server whose `/stream` is sent piece by piece, and one client of it. */
async function connected(pieces: number) {
  const streams = new OpenResponses();
  const seen = { pieces: 0, isWaiting: false, hasEnded: false, isAllowed: true };
  const wire = new TestWire(async (connection, { path, isHttp11 }) => {
    if (path !== "/stream") return connection.send(emptyResponse, emptyResponse.length);
    const stream = streams.startStream(connection, isHttp11, async () => seen.isAllowed);
    connection.stream("HTTP/1.1 200 OK\r\n\r\n", stream);
    for (; seen.pieces < pieces && stream.isOpen; seen.pieces++) {
      seen.isWaiting = true;
      await stream.write("x".repeat(pieceCharacters));
      seen.isWaiting = false;
    }
    stream.end();
    seen.hasEnded = true;
  });
  const client = await wire.connect();
  return { wire, client, seen, [Symbol.asyncDispose]: () => wire[Symbol.asyncDispose]() };
}

/** As many pieces as HTTP/1.1 sends them. */
function streamOf(pieces: number): string {
  const chunk = `${pieceCharacters.toString(16)}\r\n${"x".repeat(pieceCharacters)}\r\n`;
  return `HTTP/1.1 200 OK\r\n\r\n${chunk.repeat(pieces)}0\r\n\r\n`;
}

test("a stream arrives complete, in chunks, before the next response on the connection", async () => {
  await using ends = await connected(8);
  const { client } = ends;
  client.send(`${request}GET / HTTP/1.1\r\nHost: h\r\n\r\n`);
  await eventually(() => client.received.endsWith(`\r\n0\r\n\r\n${emptyResponse}`));
  expect(client.received).toBe(streamOf(8) + emptyResponse);
  expect(ends.seen.hasEnded).toBe(true);
  expect(client.isOpen).toBe(true);
});

test("HTTP/1.0 has no chunks: the end of the connection is the end of the stream", async () => {
  await using ends = await connected(8);
  const { client } = ends;
  client.send(request.replace("1.1", "1.0"));
  await eventually(() => !client.isOpen);
  expect(client.received).toBe(`HTTP/1.1 200 OK\r\n\r\n${"x".repeat(8 * pieceCharacters)}`);
});

test("a client that reads slowly gets the whole stream", async () => {
  await using ends = await connected(30);
  const { wire, client, seen } = ends;
  client.send(request);
  while (!seen.hasEnded) {
    client.socket.pause();
    wire.pass(20);
    const before = seen.pieces;
    client.socket.resume();
    // Not what the client has read: the server sees that only once the kernel has room for much more.
    await eventually(() => seen.pieces > before + 1 || seen.hasEnded);
  }
  await eventually(() => client.received.endsWith("0\r\n\r\n"));
});

test.each<[string, (ends: Awaited<ReturnType<typeof connected>>) => void]>([
  ["whose client does not read for 30 seconds", ({ wire }) => wire.pass(30)],
  ["whose client goes away", ({ client }) => client.socket.terminate()],
  [
    "that is no longer allowed",
    ({ seen }) => {
      seen.isAllowed = false;
    },
  ],
])("an endless stream %s ends, visibly incomplete", async (_, interrupt) => {
  await using ends = await connected(Number.POSITIVE_INFINITY);
  const { client, seen } = ends;
  client.socket.pause();
  client.send(request);
  await eventually(() => seen.pieces > 0 && seen.isWaiting);
  interrupt(ends);
  await eventually(() => seen.hasEnded);
  client.socket.resume();
  await eventually(() => !client.isOpen);
  expect(client.received).not.toEndWith("0\r\n\r\n");
});
