import { expect, test } from "bun:test";
import { METHODS } from "node:http";
import { join } from "node:path";
import fc from "fast-check";
import { ChunkedBody, SizedBody } from "../../src/http/wire/body.ts";
import { WireFault } from "../../src/http/wire/fields.ts";
import { parseHead } from "../../src/http/wire/head.ts";

// Requests are smuggled past a proxy when two parsers disagree on one of them. So whatever our parser
// accepts, Node's must accept too, as the same request, with the same body and the same remaining bytes.
const line = fc.oneof(
  { weight: 5, arbitrary: fc.constant("POST /plants HTTP/1.1") },
  fc.constantFrom(
    "GET /a?b HTTP/1.1",
    "POST  / HTTP/1.1",
    "GET / HTTP/1.2",
    "GET /\t HTTP/1.1",
    "GET http://h/x HTTP/1.1",
    "GET / http/1.1",
  ),
);
const field = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "Host: h",
      "Content-Length: 0",
      "Transfer-Encoding: chunked",
      "X-A: b",
      "Connection: close",
    ),
  },
  fc.constantFrom(
    ...[
      "Content-Length: 00",
      "Content-Length: 5, 5",
      "Content-Length : 0",
      "Content-Length:\t0 ",
      "Content-Length: 0x0",
      "Content-Length: 1 1",
    ],
    ...[
      "Transfer-Encoding: Chunked",
      "Transfer-Encoding: chunked, chunked",
      "Transfer-Encoding: x",
      "Transfer-Encoding:\tchunked\t",
      "Transfer_Encoding: chunked",
    ],
    ...[
      "Host:",
      "host: H",
      "Host: a, b",
      "X-A: \u0001",
      "X A: b",
      " X-A: b",
      "\tX-A: b",
      ": b",
      "X-A",
      "X-A: b\u000bc",
      "X-\u00e9: b",
      "X-A: \u00e9",
      "X-A: b\rY: c",
      "X-A: b\nY: c",
    ],
  ),
  fc.string({ maxLength: 12 }),
);
const head = fc
  .tuple(line, fc.boolean(), fc.array(field, { maxLength: 4 }))
  .map(([first, host, fields]) => [first, ...(host ? ["Host: h"] : []), ...fields].join("\r\n"));
const mutated = fc
  .tuple(head, fc.nat(80), fc.constantFrom("", " ", "\r", "\n", "\u0000", ":", ",", "\t", "x"))
  .map(([text, at, change]) => text.slice(0, at) + change + text.slice(at + 1));

const size = fc.constantFrom(
  ...["0", "00", "3", "03", "0000000000003", "A", "a", "3 ", " 3", "3\t", "0x3", "+3", "-3", "3g", "3,3", ""],
  ...[
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
  ],
  ...[
    "3;a= b",
    '3;a="b"c',
    "3;a;b=c",
    "3;a;;b",
    "3;\u00e9",
    '3;a="\u00e9"',
    '3;a="\u007f"',
    "3;a\u0000",
    "3;a=b;",
  ],
);
const data = fc.constantFrom("abc", "ab", "abcd", "\r\n\r", "0123456789", "");
const lineEnd = fc.oneof(
  { weight: 8, arbitrary: fc.constant("\r\n") },
  fc.constantFrom("\n", "\r", "\r\r\n", " \r\n"),
);
const chunk = fc.tuple(size, lineEnd, data, lineEnd).map((parts) => parts.join(""));
const goodChunk = fc.constantFrom("3\r\nabc\r\n", "3;a=b\r\nabc\r\n", 'A;q="\\""\r\n0123456789\r\n');
const trailer = fc.constantFrom(
  "X: y",
  "X:",
  "X : y",
  " X: y",
  "X",
  "X: a\u0001",
  "Content-Length: 5",
  "X: a\nb",
);
const lastChunk = fc.oneof(
  { weight: 3, arbitrary: fc.constant("0\r\n\r\n") },
  fc
    .tuple(size, lineEnd, fc.array(trailer, { maxLength: 2 }), lineEnd, lineEnd)
    .map(
      ([first, end, trailers, each, last]) => first + end + trailers.map((one) => one + each).join("") + last,
    ),
);
const chunkedBody = fc
  .tuple(fc.array(fc.oneof({ weight: 2, arbitrary: goodChunk }, chunk), { maxLength: 3 }), lastChunk)
  .map(([chunks, last]) => chunks.join("") + last);
const chunkedRequest = chunkedBody.map(
  (body) => `POST /plants HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
);
const host = fc
  .oneof(
    fc.constantFrom(
      "x:80:80",
      "[",
      "x:abc",
      "%zz",
      "%41",
      "x:",
      ":80",
      "[::1]",
      "[::1]:80",
      "[:::]",
      "[::1",
      "::1",
    ),
    fc.stringMatching(/^[a-z0-9%:[\]._~!$@/?#\\-]{0,8}$/),
  )
  .map((value) => `GET / HTTP/1.1\r\nHost: ${value}\r\n\r\n`);

/** Follows each request, and must be parsed as the next one. */
const next = "GET /next HTTP/1.1\r\nHost: h\r\n\r\n";

interface Found {
  readonly method: string;
  readonly path: string;
  readonly chunked: boolean;
  readonly body: string;
}

/** The requests that our parser finds in the bytes; undefined if it refuses any of them. */
function ours(text: string): Found[] | undefined {
  const found: Found[] = [];
  for (let rest = Buffer.from(text, "latin1"); rest.length > 0; ) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) return undefined;
    const head = parseHead(rest.toString("latin1", 0, end), rest, 0);
    if (head instanceof WireFault) return undefined;
    const body = head.chunked ? new ChunkedBody(100_000) : new SizedBody(head.contentLength ?? 0);
    const read = body.push(rest.subarray(end + 4));
    if (read === undefined || read instanceof WireFault) return undefined;
    const { method, path, chunked } = head;
    found.push({ method, path, chunked, body: read.body.toString("latin1") });
    if (!head.keepAlive) break;
    rest = Buffer.from(read.rest);
  }
  return found;
}

async function nodes(texts: readonly string[]): Promise<Found[][]> {
  const node = Bun.spawn(["node", join(import.meta.dir, "node-parser.js")], {
    stdin: "pipe",
    stdout: "pipe",
  });
  node.stdin.write(texts.map((text) => `${JSON.stringify(text)}\n`).join(""));
  node.stdin.end();
  const lines = (await new Response(node.stdout).text()).trim().split("\n");
  return lines.map((line) => {
    const found: Record<string, string>[] = JSON.parse(line);
    return found.map(({ method = "", url = "", coding, body = "" }) => ({
      method,
      path: (url.replace(/^https?:\/\/[^/?#]*/i, "") || "/").split("?")[0] ?? "",
      chunked: coding !== undefined,
      body,
    }));
  });
}

/** What we accept and Node does not; docs/adr/0006-http-on-plain-tcp.md has the reasons. */
const known: [what: string, is: (text: string, found: readonly Found[]) => boolean][] = [
  ["a method that Node does not know", (_, found) => found.some(({ method }) => !METHODS.includes(method))],
  ["a tab after a length", (text) => /\r\ncontent-length:[ \t]*\d+[ ]*\t/i.test(text)],
];

test("requests that we accept are the same to Node's parser, including bodies and pipelined requests", async () => {
  const heads = fc.oneof(head, mutated).map((text) => `${text}\r\n\r\n`);
  const kinds = [heads, chunkedRequest, host];
  const streams = kinds
    .flatMap((kind) => fc.sample(kind, { numRuns: 4000, seed: 20261115 }))
    .map((text) => text + next);
  const accepted = streams
    .map((text) => ({ text, found: ours(text) }))
    .filter((pair): pair is { text: string; found: Found[] } => pair.found !== undefined)
    .filter(({ text, found }) => !known.some(([, is]) => is(text, found)));
  for (const start of ["POST /plants HTTP/1.1\r\nHost: h\r\nTransfer", "GET / HTTP/1.1\r\nHost:"])
    expect(accepted.filter(({ text }) => text.startsWith(start)).length).toBeGreaterThan(300);
  const answers = await nodes(accepted.map(({ text }) => text));
  expect(answers).toHaveLength(accepted.length);
  // We may close earlier than Node, which is always safe: it does not recognise "close" before a tab.
  const disagreements = accepted.filter(
    ({ found }, index) => !Bun.deepEquals(answers[index]?.slice(0, found.length), found),
  );
  expect(disagreements.map(({ text }) => text)).toEqual([]);
}, 60_000);
