import { expect, test } from "bun:test";
import { METHODS } from "node:http";
import { join } from "node:path";
import fc from "fast-check";
import { type Head, NotHttp, parseHead } from "../src/http/wire/head.ts";

// Two readers that take one head in two ways are how requests are smuggled past a proxy. So whatever our reader takes,
// Node's must take as well, and as the same request.
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

test("a head that we take is the same request to Node's parser", async () => {
  const samples = fc.sample(fc.oneof(head, mutated), { numRuns: 6000, seed: 20261115 });
  const taken = samples
    .map((text) => [text, parseHead(text)] as const)
    .filter((pair): pair is [string, Head] => !(pair[1] instanceof NotHttp))
    // Node knows a fixed list of methods; to us any token is one, and no route has it.
    .filter(([, { method }]) => METHODS.includes(method));
  const sent = taken.map(([text, { chunked }]) => `${text}\r\n\r\n${chunked ? "0\r\n\r\n" : ""}`);
  const node = Bun.spawn(["node", join(import.meta.dir, "node-parser.js")], {
    stdin: "pipe",
    stdout: "pipe",
  });
  node.stdin.write(sent.map((text) => `${JSON.stringify(text)}\n`).join(""));
  node.stdin.end();
  const answers = (await new Response(node.stdout).text())
    .trim()
    .split("\n")
    .map((answer) => JSON.parse(answer));
  expect(answers).toHaveLength(taken.length);
  expect(taken.length).toBeGreaterThan(500);

  const disagreements = taken.filter(([, ours], index) => {
    const theirs = answers[index];
    if (theirs === null) return true;
    const samePath = theirs.url.replace(/^http:\/\/h/, "").split("?")[0] === ours.path;
    const sameLength =
      ours.contentLength === (theirs.length === undefined ? undefined : Number(theirs.length));
    return (
      !samePath ||
      !sameLength ||
      theirs.method !== ours.method ||
      (theirs.coding !== undefined) !== ours.chunked
    );
  });
  expect(disagreements.map(([text]) => text)).toEqual([]);
}, 60_000);
