import { expect, test } from "bun:test";
import fc from "fast-check";
import type { WireFault } from "../../src/http/wire/fields.ts";
import { Head, HeadReader, parseHead } from "../../src/http/wire/head.ts";

// Heads of real clients, and what two parsers have read in two ways.
const line = fc.constantFrom(
  "POST /plants HTTP/1.1",
  "POST /plants?a=b HTTP/1.1",
  "GET http://other:80/livez?x HTTP/1.1",
  "GET http://[::1/ HTTP/1.1",
  "OPTIONS * HTTP/1.1",
  "GET / HTTP/1.0",
  "GET / HTTP/1.2",
  "post /plants HTTP/1.1",
);
const names = [
  ...["Host", "hOST", "Content-Length", "content-length", "Transfer-Encoding", "Connection", "Expect"],
  ...["Authorization", "X-Request-Id", "traceparent", "X-A", "x^", "x~", "User-Agent", "Accept-Patch", "Y"],
];
const values = [
  ...[
    "h",
    "127.0.0.1:3000",
    "[::1]:80",
    "[zz]",
    "x:80:80",
    "12",
    "0",
    "007",
    "1, 1",
    "+1",
    "chunked",
    "gzip",
  ],
  ...["close", "x, Close", "keep-alive", "100-continue", "Bearer a", "", " ", "\t b c \t", "\u00e9", "a:b"],
];
const field = fc.oneof(
  { weight: 4, arbitrary: fc.constant("Host: h") },
  {
    weight: 12,
    arbitrary: fc
      .tuple(fc.constantFrom(...names), fc.constantFrom(":", ": ", ":\t "), fc.constantFrom(...values))
      .map((parts) => parts.join("")),
  },
  fc.constantFrom(" folded", ": x", "Host : h", "", "X-A", "X\u0000: y", "X: \u0000", "X: \u007f", "X: a\rb"),
);
const head = fc
  .tuple(line, fc.array(field, { maxLength: 9 }), fc.constantFrom(0, 0, 0, 95))
  .map(([first, fields, more]) => [first, ...Array<string>(more).fill("A: b"), ...fields].join("\r\n"));
// One byte of any value in the place of another, added or removed.
const mutation = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255), fc.nat(2));
const mutated = fc
  .tuple(head, fc.array(mutation, { maxLength: 3 }))
  .map(([text, mutations]) => mutations.reduce(mutate, text))
  // What is before the first empty line is one head.
  .map((text) => text.split("\r\n\r\n")[0] ?? "");

function mutate(text: string, [where, code, kind]: [number, number, number]): string {
  const at = Math.floor(where * text.length);
  const inserted = kind === 0 ? "" : String.fromCharCode(code);
  return text.slice(0, at) + inserted + text.slice(kind === 2 ? at : at + 1);
}

const start = "POST /plants HTTP/1.1\r\nHost: h";
const bytesOf = (text: string) => Buffer.from(`${text}\r\n\r\n`, "latin1");

test("heads are read as each would be on its own, whatever came before", () => {
  // Pieces that, put together, are nearly the same head again and again: the digits of a length in every place that
  // could be taken for another, and lengths that are none.
  const length = fc.oneof(
    fc.nat({ max: 1200 }).map(String),
    fc.constantFrom("", "0x1", "1 1", "+1", "007", "9999999999999999", "1\r\nX-A: 1", "1, 1"),
  );
  const name = fc.constantFrom("Content-Length:", "content-length: ", "X-Content-Length: ", "X-A: 1");
  const rest = fc.constantFrom("", "1", "\r\nX-A: b", "\r\nX-A: Content-Length: 1", "\r\nContent-Length: 1");
  const host = fc.constantFrom("", "1", "\r\nContent-Length: ", "\r\nTransfer-Encoding: chunked");
  const similar = fc
    .tuple(host, fc.option(fc.tuple(name, length)), rest)
    .map(([host, field, rest]) => `${start}${host}${field === null ? "" : `\r\n${field.join("")}`}${rest}`);
  fc.assert(
    fc.property(fc.array(fc.oneof(similar, mutated), { maxLength: 8 }), (texts) => {
      const reader = new HeadReader();
      for (const text of texts)
        expect(visible(reader.read(bytesOf(text), 0, text.length))).toEqual(
          visible(parseHead(text, bytesOf(text), 0)),
        );
    }),
    { numRuns: 8000 },
  );
});

function visible(head: Head | WireFault): unknown {
  if (!(head instanceof Head)) return head;
  return { ...head, fields: [...names, "x-content-length"].map((name) => head.header(name.toLowerCase())) };
}
