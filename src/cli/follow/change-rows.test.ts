import { describe, expect, test } from "bun:test";
import { linesOf, parseChange } from "./change-rows.ts";

async function* chunksOf(...texts: (string | Uint8Array)[]) {
  for (const text of texts) yield typeof text === "string" ? Buffer.from(text) : text;
}

async function readAll(lines: AsyncIterable<string[]>): Promise<string[]> {
  const all: string[] = [];
  for await (const some of lines) all.push(...some);
  return all;
}

describe("lines of a change feed", () => {
  test("are the same however they are split, without heartbeats and incomplete lines", async () => {
    const bytes = Buffer.from('{"é":1}\n\n{"b":"\u{1f33f}"}\n{"incomp');
    for (let cut = 0; cut <= bytes.length; cut++)
      expect(await readAll(linesOf(chunksOf(bytes.subarray(0, cut), bytes.subarray(cut))))).toEqual([
        '{"é":1}',
        '{"b":"\u{1f33f}"}',
      ]);
  });

  test("are bounded: one that never ends is refused", async () => {
    let sent = 0;
    async function* endless() {
      for (; ; sent++) yield Buffer.alloc(100, "x");
    }
    await expect(readAll(linesOf(endless(), 1000))).rejects.toThrow("too long");
    expect(sent).toBeLessThan(12);
    expect(await readAll(linesOf(chunksOf(`${"x".repeat(1000)}\n`), 1000))).toHaveLength(1);
  });

  test("are UTF-8", async () => {
    await expect(readAll(linesOf(chunksOf(Uint8Array.of(0xff, 0x0a))))).rejects.toThrow("not UTF-8");
  });
});

describe("a row of a change feed", () => {
  const row = {
    ...{ cursor: "0123456789abcdef.1.a", id: "-9223372036854775808", name: "Fern", tag: "t" },
    ...{ createdAt: "2026-01-02T03:04:05.678Z", createdBy: "someone" },
  };

  test("is a plant with its cursor", () => {
    expect(parseChange(JSON.stringify(row))).toEqual({
      cursor: row.cursor,
      plant: {
        ...{ id: -(2n ** 63n), name: "Fern", tag: "t" },
        ...{ createdAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678), createdBy: "someone" },
      },
    });
  });

  for (const [what, changed] of Object.entries({
    "an id beyond int64": { id: "9223372036854775808" },
    "an id in hex": { id: "0x10" },
    "an empty id": { id: "" },
    "an id of a million digits": { id: "1".repeat(1_000_000) },
    "an id as a number": { id: 1 },
    "U+0000 in the name": { name: "a\u0000b" },
    "a lone surrogate in the tag": { tag: "\ud800" },
    "no sender": { createdBy: null },
    "no time": { createdAt: "soon" },
    "a cursor with a line break": { cursor: "a\nb" },
    "a long cursor": { cursor: "a".repeat(101) },
  }))
    test(`with ${what} is refused`, () => {
      expect(() => parseChange(JSON.stringify({ ...row, ...changed }))).toThrow("a row has ");
    });

  for (const text of ["null", "[", '"a"', "<html>"])
    test(`cannot be ${text}`, () => expect(() => parseChange(text)).toThrow("not a JSON object"));
});
