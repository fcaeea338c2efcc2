import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import type { Connection } from "../../src/http/wire/connection.ts";
import type { WireFault } from "../../src/http/wire/fields.ts";
import { WireServer } from "../../src/http/wire/wire-server.ts";

// TCP may split a stream anywhere. The responses must not depend on where.
const bodyBytesMax = 300;
const server = new WireServer(
  { host: "127.0.0.1", port: 0, connectionsMax: 1000, bodyBytesMax, bodyTimeoutMs: 20_000 },
  {
    handle(connection, head) {
      const { method, path, keepAlive } = head;
      const headers = ["host", "connection", "x-a", "expect"].map((name) => head.header(name));
      if (method === "HEAD") return answer(connection, `left ${path}`);
      connection.readBody({
        bodyReceived: (body) =>
          answer(connection, `${method} ${path} ${headers} ${keepAlive} ${body.toString("latin1")}`),
        bodyNotReceived: (fault) => fault && refuse(connection, fault),
      });
    },
    refuse,
  },
);
function refuse(connection: Connection, { kind, reason }: WireFault): void {
  answer(connection, `${kind}: ${reason}`);
}

afterAll(() => server.drain(0));

function answer(connection: Connection, text: string): void {
  const line = `${connection.closing ? "last " : ""}${text}\n`;
  connection.send(line, Buffer.byteLength(line));
}

/** Sends the pieces one by one, each in its own turn, closes its half, and returns everything that came back. */
function answers(pieces: readonly Buffer[]): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = "";
  const turn = () => new Promise((next) => setImmediate(next));
  Bun.connect({
    hostname: "127.0.0.1",
    port: server.port,
    allowHalfOpen: true,
    socket: {
      async open(socket) {
        for (const piece of pieces) {
          socket.write(piece);
          await turn();
        }
        socket.shutdown();
      },
      data(_, bytes) {
        received += bytes.toString("latin1");
      },
      end: (socket) => void socket.end(),
      error() {},
      // Whether a body was asked for depends on whether it was there already, as RFC 9110 (10.1.1) lets it.
      close: () => resolve(received.replaceAll("HTTP/1.1 100 Continue\r\n\r\n", "")),
    },
  });
  return promise;
}

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [0, ...at.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places
    .slice(1)
    .map((to, index) => bytes.subarray(places[index], to))
    .filter((piece) => piece.length > 0);
}

const chunk = fc.constantFrom(
  ...["3\r\nabc\r\n", "1;x=y\r\na\r\n", '2;q="\\"z"\r\nab\r\n', "00a\r\n0123456789\r\n"],
  ...[
    "5 \r\nabcde\r\n",
    "5;\r\nabcde\r\n",
    "5;[\r\nabcde\r\n",
    "5\nabcde\r\n",
    "3\r\nabcd\r\n",
    "3\r\nab\r\n",
  ],
  ...["ff\r\n", `1;${"e".repeat(1200)}\r\na\r\n`, "zz\r\n", "-1\r\na\r\n", "\r\n"],
);
const end = fc.constantFrom("0\r\n\r\n", "0\r\nX: y\r\n\r\n", "0\r\n\n", "0\n\r\n", "0\r\n X: y\r\n\r\n", "");
const good = fc.tuple(fc.array(chunk, { maxLength: 3 }), end).map(([chunks, last]) => chunks.join("") + last);
const request = fc.oneof(
  fc.constantFrom(
    "GET /a HTTP/1.1\r\nHost: h\r\n\r\n",
    "POST /b?q HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
  ),
  good.map((body) => `POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n${body}`),
  good.map((body) => `HEAD /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n${body}`),
  fc.constantFrom(
    ...["\r\n", "\r\n\r\n", "\r", "\n", "\r\r\n", "\u0016\u0003\u0001", " GET / HTTP/1.1\r\nHost: h\r\n\r\n"],
    "HEAD /d HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nGET ",
    "HEAD /d HTTP/1.1\r\nHost: h\r\nContent-Length: 400\r\n\r\nGET ",
    "POST /e HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
    "POST /f HTTP/1.1\r\nHost: h\r\nContent-Length: 301\r\n\r\n",
    "GET /g HTTP/1.1\nHost: h\n\n",
    "GET /h HTTP/1.1\r\nHost: h\n\r\n\r\n",
    "GET /i HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n",
    "GET /j HTTP/1.1\rHost: h\r\r",
    "GET /k HTTP/1.0\r\n\r\n",
    "GET /l HTTP/1.1\r\n\r\n",
    "G=T /m HTTP/1.1\r\nHost: x:abc\r\nBad\r\n\r\n",
    `GET /n HTTP/1.1\r\nHost: h\r\n${"A: b\r\n".repeat(101)}\n\r\n\r\n`,
    "GET /o HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
  ),
);
const stream = fc.oneof(
  { weight: 3, arbitrary: fc.array(request, { minLength: 1, maxLength: 3 }).map((all) => all.join("")) },
  fc
    .tuple(request, fc.nat(90), fc.constantFrom("", "\r", "\n", "\r\n", "\u0000", " ", ":"))
    .map(([text, at, change]) => text.slice(0, at) + change + text.slice(at + 1)),
);

test("the responses to a stream of bytes are the same at once, byte by byte, and split at random positions", async () => {
  await fc.assert(
    fc.asyncProperty(stream, fc.array(fc.nat(), { minLength: 1, maxLength: 5 }), async (text, places) => {
      const bytes = Buffer.from(text, "latin1");
      const every = Array.from({ length: bytes.length }, (_, at) => at);
      const [whole, bytewise, random] = await Promise.all([
        answers([bytes]),
        answers(cut(bytes, every)),
        answers(cut(bytes, places)),
      ]);
      expect(bytewise).toBe(whole);
      expect(random).toBe(whole);
    }),
    { numRuns: 250, seed: 20261115 },
  );
}, 60_000);

const padded = (length: number, before = "") => {
  const line = `GET / HTTP/1.1\r\nHost: h\r\n${before}X: `;
  return `${line}${"x".repeat(length - line.length)}\r\n\r\n`;
};
const chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
const nearLimits: [string, string][] = [
  ["a head of the largest size", padded(16_384)],
  ["a head one byte larger", padded(16_385)],
  ["a large head with a fault in it", padded(17_000, "X: a\nb\r\n")],
  ["a fault behind the largest size", `${padded(16_390).slice(0, 16_389)}\n\r\n\r\n`],
  ["the longest chunk line", `${chunked}1;${"e".repeat(1022)}\r\na\r\n0\r\n\r\n`],
  ["a chunk line one byte longer", `${chunked}1;${"e".repeat(1023)}\r\na\r\n0\r\n\r\n`],
  ["a hundred headers", `GET / HTTP/1.1\r\nHost: h\r\n${"A: b\r\n".repeat(99)}\r\n`],
  ["the 101st header", `GET / HTTP/1.1\r\nHost: h\r\n${"A: b\r\n".repeat(100)}\r\n`],
];
for (const [what, text] of nearLimits) {
  test(`${what} gets the same response, however its end is split`, async () => {
    const bytes = Buffer.from(text, "latin1");
    const whole = await answers([bytes]);
    expect(whole).not.toBe("");
    const tail = Array.from({ length: Math.min(bytes.length, 1100) }, (_, back) => bytes.length - back);
    const cuts = await Promise.all([
      ...tail.slice(0, 24).map((at) => answers(cut(bytes, [at]))),
      answers(cut(bytes, tail)),
    ]);
    expect(new Set(cuts)).toEqual(new Set([whole]));
  });
}
