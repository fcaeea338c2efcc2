// How much memory clients cost that send much and read nothing.
import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import type { Socket } from "bun";
import { eventually } from "../support/eventually.ts";
import { emptyResponse, TestWire } from "../support/wire.ts";

const clients = 40;
const limits = { bodyBytesMax: 65_536 };

function extraBytes(): number {
  Bun.gc(true);
  return heapStats().extraMemorySize;
}

// A store answers later, when more may have arrived; a page is answered at once.
test.each(["later", "at once"])(
  "a client that never reads what is answered %s costs little memory",
  async (when) => {
    await using wire = new TestWire((connection) => {
      // What a stranger sends on is discarded.
      connection.becomeAdmitted();
      connection.readBody({
        bodyReceived(bytes, start, end) {
          const body = bytes.toString("utf8", start, end);
          const text = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
          if (when === "later") setImmediate(() => connection.send(text, text.length));
          else connection.send(text, text.length);
        },
        bodyNotReceived() {},
      });
    }, limits);
    const body = "x".repeat(60_000);
    const flood = Buffer.from(
      `POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`.repeat(400),
    );
    let sent = 0;
    const sendMore = (socket: Socket<{ at: number }>): void => {
      const written = Math.max(0, socket.write(flood.subarray(socket.data.at)));
      socket.data.at += written;
      sent += written;
    };
    const before = extraBytes();
    const sockets: Socket<{ at: number }>[] = [];
    for (let count = 0; count < clients; count++) {
      const socket = await Bun.connect<{ at: number }>({
        hostname: "127.0.0.1",
        port: wire.server.port,
        data: { at: 0 },
        socket: { data() {}, drain: sendMore, error() {} },
      });
      socket.pause();
      sendMore(socket);
      sockets.push(socket);
    }
    for (let last = -1; last !== sent; await Bun.sleep(300)) last = sent;
    expect(sent).toBeLessThan(clients * flood.length);
    expect((extraBytes() - before) / clients).toBeLessThan(500_000);
    for (const socket of sockets) socket.terminate();
  },
);

// As one does whose credentials are being verified.
test("a request that waits does not keep alive those before it that arrived with it", async () => {
  let waiting = 0;
  await using wire = new TestWire((connection, { path }) => {
    if (path === "/wait") {
      waiting++;
      return;
    }
    connection.becomeAdmitted();
    const bodyReceived = () => connection.send(emptyResponse, emptyResponse.length);
    connection.readBody({ bodyReceived, bodyNotReceived() {} });
  }, limits);
  const answered = `POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50000\r\n\r\n${"x".repeat(50_000)}`;
  const before = extraBytes();
  for (let count = 0; count < clients; count++)
    (await wire.connect()).send(`${answered.repeat(2)}GET /wait HTTP/1.1\r\nHost: h\r\n\r\n`);
  await eventually(() => waiting === clients);
  expect((extraBytes() - before) / clients).toBeLessThan(50_000);
});
