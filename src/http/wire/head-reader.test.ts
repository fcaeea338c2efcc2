import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { WireFault } from "./fields.ts";
import { Head, HeadReader, parseHead } from "./head.ts";

const line = "POST /plants HTTP/1.1\r\nHost: h";
const bytesOf = (text: string) => Buffer.from(`${text}\r\n\r\n`, "latin1");
const read = (reader: HeadReader, text: string) => reader.read(bytesOf(text), 0, text.length) as Head;

describe("the heads of one connection", () => {
  test("are not parsed again if only the length differs", () => {
    const reader = new HeadReader();
    const first = read(reader, `${line}\r\nContent-Length: 9\r\nX-A: b`);
    const second = read(reader, `${line}\r\nContent-Length: 10\r\nX-A: b`);
    expect(second.line).toBe(first.line);
    expect([first.contentLength, second.contentLength]).toEqual([9, 10]);
  });

  test("are parsed again if anything else differs", () => {
    const reader = new HeadReader();
    read(reader, `${line}\r\nAuthorization: Bearer a\r\nContent-Length: 9`);
    const second = read(reader, `${line}\r\nAuthorization: Bearer b\r\nContent-Length: 9`);
    expect(second.header("authorization")).toBe("Bearer b");
  });

  test("are remembered again once they no longer differ, after many that did", () => {
    const reader = new HeadReader();
    const head = (id: number, length: number) =>
      `${line}\r\nX-Request-Id: ${id}\r\nContent-Length: ${length}`;
    for (let id = 1000; id < 1050; id++)
      expect(read(reader, head(id, id)).header("x-request-id")).toBe(String(id));
    const heads = Array.from({ length: 70 }, () => read(reader, head(1, 9)));
    expect(heads[69]).toBe(heads[68] as Head);
    expect(read(reader, head(1, 10)).contentLength).toBe(10);
  });

  test("have each their own length, also where an earlier one comes again", () => {
    const reader = new HeadReader();
    const lengths = [9, 10, 9, 9, 11, 10, 9];
    const heads = lengths.map((length) => read(reader, `${line}\r\nContent-Length: ${length}`));
    expect(heads.map(({ contentLength }) => contentLength)).toEqual(lengths);
  });

  test("are never taken for another one, also where one of many that differed comes again", () => {
    for (let again = 0; again < 10; again++)
      for (const length of [9, 10]) {
        const reader = new HeadReader();
        const head = (id: number, length: number) =>
          read(reader, `${line}\r\nX-Request-Id: ${id}\r\nContent-Length: ${length}`);
        for (let id = 0; id < 10; id++) head(id, 9);
        expect(head(again, length).header("x-request-id")).toBe(String(again));
      }
  });

  test("are refused where a request line only starts like the one before", () => {
    const reader = new HeadReader();
    read(reader, line);
    const text = line.replace("\r\n", "xx");
    expect(reader.read(bytesOf(text), 0, text.length)).toBeInstanceOf(WireFault);
  });

  test.each(["", "\n", "\n9"])("are refused where they are %j, also after many that differed", (text) => {
    const reader = new HeadReader();
    for (let id = 0; id < 10; id++) read(reader, `${line}\r\nX-Request-Id: ${id}\r\nContent-Length: 9`);
    expect(reader.read(bytesOf(text), 0, text.length)).toBeInstanceOf(WireFault);
  });

  test("are read as each would be on its own, whatever came before", () => {
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
        for (const text of texts)
          expect(visible(read(reader, text))).toEqual(visible(parseHead(text, bytesOf(text), 0)));
      }),
      { numRuns: 5000 },
    );
  });
});

function visible(head: Head | WireFault): unknown {
  if (!(head instanceof Head)) return head;
  return { ...head, fields: ["host", "x-a", "x-content-length"].map((name) => head.header(name)) };
}
