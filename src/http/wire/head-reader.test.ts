import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Head, parseHead } from "./head.ts";
import { HeadReader } from "./head-reader.ts";

const line = "POST /plants HTTP/1.1\r\nHost: h";

describe("the heads of one connection", () => {
  test("are not parsed again if only the length differs", () => {
    const reader = new HeadReader();
    const first = reader.read(`${line}\r\nContent-Length: 9\r\nX-A: b`) as Head;
    const second = reader.read(`${line}\r\nContent-Length: 10\r\nX-A: b`) as Head;
    expect(second.headers).toBe(first.headers);
    expect([first.contentLength, second.contentLength]).toEqual([9, 10]);
  });

  test("are read anew where anything else differs", () => {
    const reader = new HeadReader();
    reader.read(`${line}\r\nAuthorization: Bearer a\r\nContent-Length: 9`);
    const second = reader.read(`${line}\r\nAuthorization: Bearer b\r\nContent-Length: 9`) as Head;
    expect(second.headers.get("authorization")).toBe("Bearer b");
  });

  test("are told as each would be by itself, whatever came before", () => {
    // Pieces that, put together, are nearly the same head again and again: the digits of a length in every place that
    // could be taken for another, and lengths that are none.
    const length = fc.oneof(
      fc.nat({ max: 1200 }).map(String),
      fc.constantFrom("", "0x1", "1 1", "+1", "007", "9999999999999999", "1\r\nX-A: 1", "1, 1"),
    );
    const name = fc.constantFrom("Content-Length:", "content-length: ", "X-Content-Length: ", "X-A: 1");
    const rest = fc.constantFrom(
      "",
      "1",
      "\r\nX-A: b",
      "\r\nX-A: Content-Length: 1",
      "\r\nContent-Length: 1",
    );
    const host = fc.constantFrom("", "1", "\r\nContent-Length: ", "\r\nTransfer-Encoding: chunked");
    const head = fc
      .tuple(host, fc.option(fc.tuple(name, length)), rest)
      .map(([host, field, rest]) => `${line}${host}${field === null ? "" : `\r\n${field.join("")}`}${rest}`);
    fc.assert(
      fc.property(fc.array(head, { maxLength: 8 }), (texts) => {
        const reader = new HeadReader();
        for (const text of texts) expect(reader.read(text)).toEqual(parseHead(text));
      }),
      { numRuns: 5000 },
    );
  });
});
