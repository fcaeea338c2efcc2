// Generated requests, read by the service and by Node's own parser.
import { afterAll, expect, test } from "bun:test";
import { METHODS } from "node:http";
import { join } from "node:path";
import fc from "fast-check";
import { ChunkedBody, SizedBody } from "../../src/http/wire/body.ts";
import type { Connection } from "../../src/http/wire/connection.ts";
import { parseHead } from "../../src/http/wire/head.ts";
import { WireFault } from "../../src/http/wire/wire-fault.ts";
import { WireServer } from "../../src/http/wire/wire-server.ts";
import { start } from "../support/command.ts";

// Requests of real clients, and what two parsers have read in two ways.
const line = fc.oneof(
  { weight: 5, arbitrary: fc.constant("POST /plants HTTP/1.1") },
  fc.constantFrom(
    "POST /plants?a=b HTTP/1.1",
    "GET http://other:80/livez?x HTTP/1.1",
    "GET http://[::1/ HTTP/1.1",
    "OPTIONS * HTTP/1.1",
    "HEAD / HTTP/1.1",
    "GET / HTTP/1.0",
    "GET / HTTP/1.2",
    "GET / http/1.1",
    "post /plants HTTP/1.1",
    "POST  / HTTP/1.1",
    "GET /\t HTTP/1.1",
    " GET / HTTP/1.1",
  ),
);
const names = (
  "Host hOST Content-Length content-length Transfer-Encoding Connection Expect Authorization " +
  "X-Request-Id traceparent X-A x^ x~ User-Agent Accept-Patch Y"
).split(" ");
const values = [
  "h",
  "127.0.0.1:3000",
  "[::1]:80",
  "[zz]",
  "x:80:80",
  "%41",
  "%zz",
  "0",
  "00",
  "12",
  "007",
  "1 1",
  "1, 1",
  "+1",
  "0x0",
  "chunked",
  "Chunked",
  "chunked, chunked",
  "gzip",
  "close",
  "x, Close",
  "keep-alive",
  "100-continue",
  "100-Continue, 100-continue",
  "x 100-continue",
  "Bearer a",
  "",
  " ",
  "\t b c \t",
  "\u00e9",
  "a:b",
];
const field = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("Host: h", "X-A: b") },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom(...names), fc.constantFrom(":", ": ", ":\t "), fc.constantFrom(...values))
      .map((parts) => parts.join("")),
  },
  fc.constantFrom(
    " folded",
    "\tX-A: b",
    ": x",
    "Host : h",
    "X A: b",
    "",
    "X-A",
    "Transfer_Encoding: chunked",
    "X\u0000: y",
    "X-\u00e9: b",
    "X: \u0000",
    "X: \u007f",
    "X: a\rb",
    "X: a\nY: c",
    "X: b\u000bc",
  ),
  fc.stringMatching(/^[a-z0-9%:[\]._~!$@/?#\\-]{0,8}$/).map((host) => `Host: ${host}`),
  fc.string({ maxLength: 12 }),
);
const head = fc
  .tuple(line, fc.boolean(), fc.array(field, { maxLength: 5 }), fc.constantFrom(0, 0, 0, 95))
  .map(([first, host, fields, more]) =>
    [first, ...(host ? ["Host: h"] : []), ...Array<string>(more).fill("A: b"), ...fields].join("\r\n"),
  );
// One byte of any value in the place of another, added or removed.
const mutation = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255), fc.nat(2));
const mutated = (text: fc.Arbitrary<string>) =>
  fc
    .tuple(text, fc.array(mutation, { maxLength: 3 }))
    .map(([text, mutations]) => mutations.reduce(mutate, text));

function mutate(text: string, [where, code, kind]: [number, number, number]): string {
  const at = Math.floor(where * text.length);
  const inserted = kind === 0 ? "" : String.fromCharCode(code);
  return text.slice(0, at) + inserted + text.slice(kind === 2 ? at : at + 1);
}

const size = fc.constantFrom(
  "0",
  "00",
  "3",
  "03",
  "0000000000003",
  "A",
  "a",
  "3 ",
  " 3",
  "3\t",
  "0x3",
  "+3",
  "-3",
  "3g",
  "3,3",
  "",
  "3;",
  "3;[",
  "3;a",
  "3;a=b",
  "3;a=",
  "3;=b",
  '3;a="b"',
  '3;a="b',
  '3;a="\\""',
  "3 ;a",
  "3; a",
  "3;a =b",
  "3;a= b",
  '3;a="b"c',
  "3;a;b=c",
  "3;a;;b",
  "3;\u00e9",
  '3;a="\u00e9"',
  '3;a="\u007f"',
);
const data = fc.constantFrom("abc", "ab", "abcd", "\r\n\r", "0123456789", "");
const lineEnd = fc.oneof(
  { weight: 8, arbitrary: fc.constant("\r\n") },
  fc.constantFrom("\n", "\r", "\r\r\n", " \r\n"),
);
const goodChunk = fc.constantFrom("3\r\nabc\r\n", "3;a=b\r\nabc\r\n", 'A;q="\\""\r\n0123456789\r\n');
const chunk = fc.oneof(
  { weight: 2, arbitrary: goodChunk },
  fc.tuple(size, lineEnd, data, lineEnd).map((parts) => parts.join("")),
);
const trailer = fc.constantFrom("X: y", " X: y", "X y", "Content-Length: 5", "X: a\nb");
const lastChunk = fc.oneof(
  { weight: 3, arbitrary: fc.constant("0\r\n\r\n") },
  fc
    .tuple(size, lineEnd, fc.array(trailer, { maxLength: 2 }), lineEnd, lineEnd)
    .map(
      ([first, end, trailers, each, last]) => first + end + trailers.map((one) => one + each).join("") + last,
    ),
);
const chunkedHead = "POST /plants HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
const chunkedRequest = fc
  .tuple(fc.array(chunk, { maxLength: 3 }), lastChunk)
  .map(([chunks, last]) => chunkedHead + chunks.join("") + last);

interface Found {
  readonly method: string;
  readonly path: string;
  readonly isChunked: boolean;
  readonly body: string;
}

/** The requests that our parser finds in the bytes; undefined if it refuses any of them. */
function ours(text: string): Found[] | undefined {
  const found: Found[] = [];
  for (let rest = Buffer.from(text, "latin1"); rest.length > 0; ) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) return undefined;
    const head = parseHead(rest.toString("latin1", 0, end));
    if (head instanceof WireFault) return undefined;
    const body = head.isChunked ? new ChunkedBody(100_000) : new SizedBody(head.contentLength ?? 0, true);
    const read = body.push(rest.subarray(end + 4));
    if (read === undefined || read instanceof WireFault) return undefined;
    const { method, path, isChunked } = head;
    found.push({ method, path, isChunked, body: read.body.toString("latin1") });
    if (!head.keepsAlive) break;
    rest = Buffer.from(read.rest);
  }
  return found;
}

async function nodes(texts: readonly string[]): Promise<Found[][]> {
  await using node = start("node", [join(import.meta.dir, "node-parser.js")], { writesInput: true });
  node.child.stdin?.end(texts.map((text) => `${JSON.stringify(text)}\n`).join(""));
  const lines = (await node.ended).out.trim().split("\n");
  return lines.map((line) => {
    const found: Record<string, string>[] = JSON.parse(line);
    return found.map(({ method = "", url = "", coding, body = "" }) => ({
      method,
      path: (url.replace(/^https?:\/\/[^/?#]*/i, "") || "/").split("?")[0] ?? "",
      isChunked: coding !== undefined,
      body,
    }));
  });
}

// What we accept and Node does not; docs/adr/0003-own-http-and-json.md has the reasons.
const known: [what: string, is: (text: string, found: readonly Found[]) => boolean][] = [
  ["a method that Node does not know", (_, found) => found.some(({ method }) => !METHODS.includes(method))],
  ["a tab after a length", (text) => /\r\ncontent-length:[ \t]*\d+[ ]*\t/i.test(text)],
  ["an empty expectation, which Node refuses", (text) => /\r\nexpect:[ \t]*\r\n/i.test(text)],
];

// Requests are smuggled past a proxy when two parsers disagree on one of them. So whatever our parser
// accepts, Node's must accept too, as the same request, with the same body and the same remaining bytes.
test("requests that we accept are the same to Node's parser, including bodies and pipelined requests", async () => {
  const next = "GET /next HTTP/1.1\r\nHost: h\r\n\r\n";
  const accepted = [mutated(head).map((text) => `${text}\r\n\r\n`), chunkedRequest].map((kind) =>
    fc
      .sample(kind, { numRuns: 8000, seed: 20261115 })
      .map((text) => ({ text: text + next, found: ours(text + next) ?? [] }))
      .filter(({ text, found }) => found.length > 0 && !known.some(([, is]) => is(text, found))),
  );
  for (const pairs of accepted) expect(pairs.length).toBeGreaterThan(300);
  const pairs = accepted.flat();
  const answers = await nodes(pairs.map(({ text }) => text));
  expect(answers).toHaveLength(pairs.length);
  // We may close earlier than Node, which is always safe: it does not recognise "close" before a tab.
  const disagreements = pairs.filter(
    ({ found }, index) => !Bun.deepEquals(answers[index]?.slice(0, found.length), found),
  );
  expect(disagreements.map(({ text }) => text)).toEqual([]);
}, 60_000);

// TCP may split a stream anywhere. The responses must not depend on where.
const server = new WireServer(
  {
    host: "127.0.0.1",
    port: 0,
    connectionsMax: 1000,
    bodyBytesMax: 300,
    bodyTimeoutMs: 20_000,
    events: { connectionLimitReached() {}, connections() {}, callbackFailed() {} },
  },
  {
    handle(connection, head) {
      const { method, path, keepsAlive } = head;
      const headers = ["host", "connection", "x-a", "expect"].map((name) => head.header(name));
      if (method === "HEAD") return answer(connection, `left ${path}`);
      connection.readBody({
        bodyReceived: (bytes, start, end) => {
          const body = bytes.toString("latin1", start, end);
          answer(connection, `${method} ${path} ${headers} ${keepsAlive} ${body}`);
        },
        bodyNotReceived: (fault) => fault && handleFault(connection, fault),
      });
    },
    handleFault,
  },
);
afterAll(() => server.drain(0));

function handleFault(connection: Connection, { kind, message }: WireFault): void {
  answer(connection, `${kind}: ${message}`);
}

function answer(connection: Connection, text: string): void {
  const line = `${connection.isLastResponse ? "last " : ""}${text}\n`;
  connection.send(line, Buffer.byteLength(line));
}

/** Sends the bytes in pieces, each in its own turn, closes its half, and returns everything that came back. */
function answers(bytes: Buffer, cuts: readonly number[]): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = "";
  Bun.connect({
    hostname: "127.0.0.1",
    port: server.port,
    allowHalfOpen: true,
    socket: {
      async open(socket) {
        let from = 0;
        for (const to of [...cuts.map((at) => at % bytes.length).sort((a, b) => a - b), bytes.length]) {
          if (to === from) continue;
          socket.write(bytes.subarray(from, to));
          from = to;
          await new Promise((next) => setImmediate(next));
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

test("the responses to a stream of bytes are the same at once, byte by byte, and split at random positions", async () => {
  const request = fc.oneof(
    head.map((text) => `${text}\r\n\r\n`),
    chunkedRequest,
    chunkedRequest.map((text) => text.replace("POST", "HEAD")),
    fc.constantFrom(
      "\r\n",
      "\r\n\r\n",
      "\r",
      "\n",
      "\r\r\n",
      "\u0016\u0003\u0001",
      "GET /g HTTP/1.1\nHost: h\n\n",
      "POST /b?q HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
      "HEAD /d HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nGET ",
      "HEAD /d HTTP/1.1\r\nHost: h\r\nContent-Length: 400\r\n\r\nGET ",
      "POST /e HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
      "POST /f HTTP/1.1\r\nHost: h\r\nContent-Length: 301\r\n\r\n",
    ),
  );
  const stream = mutated(fc.array(request, { minLength: 1, maxLength: 3 }).map((all) => all.join("")));
  await fc.assert(
    fc.asyncProperty(stream, fc.array(fc.nat(), { minLength: 1, maxLength: 5 }), async (text, cuts) => {
      fc.pre(text !== "");
      const bytes = Buffer.from(text, "latin1");
      const [whole, bytewise, random] = await Promise.all([
        answers(bytes, []),
        answers(bytes, [...bytes.keys()]),
        answers(bytes, cuts),
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
test.each([
  ["a head of the largest size", padded(16_384)],
  ["a head one byte larger", padded(16_385)],
  ["a large head with a fault in it", padded(17_000, "X: a\nb\r\n")],
  ["a fault behind the largest size", `${padded(16_390).slice(0, 16_389)}\n\r\n\r\n`],
  ["the longest chunk line", `${chunkedHead}1;${"e".repeat(1022)}\r\na\r\n0\r\n\r\n`],
  ["a chunk line one byte longer", `${chunkedHead}1;${"e".repeat(1023)}\r\na\r\n0\r\n\r\n`],
  ["a hundred headers", `GET / HTTP/1.1\r\nHost: h\r\n${"A: b\r\n".repeat(99)}\r\n`],
  ["the 101st header", `GET / HTTP/1.1\r\nHost: h\r\n${"A: b\r\n".repeat(100)}\r\n`],
])("%s gets the same response, however its end is split", async (_, text) => {
  const bytes = Buffer.from(text, "latin1");
  const whole = await answers(bytes, []);
  expect(whole).not.toBe("");
  const tail = Array.from({ length: Math.min(bytes.length, 1100) }, (_, back) => bytes.length - back);
  const split = await Promise.all([
    ...tail.slice(0, 24).map((at) => answers(bytes, [at])),
    answers(bytes, tail),
  ]);
  expect(new Set(split)).toEqual(new Set([whole]));
});
