import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { openSource } from "./detect-source.ts";
import type { InputRow } from "./input-row.ts";
import { detectFormat, type FileFormat, rowReaderFor } from "./read-rows.ts";

const rowBytesMax = 200;
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes);

function read(format: FileFormat, bytes: Uint8Array<ArrayBuffer>, pieceBytes: number) {
  const reader = rowReaderFor(format, rowBytesMax);
  const rows: InputRow[] = [];
  for (let at = 0; at < bytes.length && reader.broken === undefined; at += pieceBytes)
    rows.push(...reader.push(bytes.slice(at, at + pieceBytes)));
  if (reader.broken === undefined) rows.push(...reader.end());
  return { rows, broken: reader.broken };
}

/** The rows and why the file is broken, which are the same however its bytes are split. */
function readAll(format: FileFormat, text: string | Uint8Array<ArrayBuffer>) {
  const bytes = typeof text === "string" ? encode(text) : text;
  const whole = read(format, bytes, 1_000_000);
  for (const pieceBytes of [1, 7]) expect(read(format, bytes, pieceBytes)).toEqual(whole);
  return whole;
}

/** Each row as its line and what would be sent, or its line and its problem; at the end, why the file is broken. */
function readable(format: FileFormat, text: string | Uint8Array<ArrayBuffer>): unknown[] {
  const { rows, broken } = readAll(format, text);
  const lines = rows.map(({ line, json, problem }) => [line, problem?.message ?? decode(json)]);
  return broken === undefined ? lines : [...lines, broken];
}

test.each(["ndjson", "json", "csv"] as const)("%s has the same rows in any split of its bytes", (format) => {
  const parts = ['{"id":1}', ',\n{"id":2,', '"a""b"', "\r\n1,x\r\n"];
  const text = fc.array(fc.constantFrom(...'[]{},"\\\r\n \taé1-:', ...parts), { maxLength: 100 });
  const start = { ndjson: "", json: "[", csv: "id,name\n" }[format];
  fc.assert(
    fc.property(text, (body) => void readAll(format, start + body.join(""))),
    { numRuns: 500 },
  );
});

describe("NDJSON", () => {
  test("has a row on each line that is not empty", () => {
    expect(readable("ndjson", '{"id":1}\r\n\n  \n{"id":2}\nnot json\n{"id":3}')).toEqual([
      [1, '{"id":1}'],
      [4, '{"id":2}'],
      [5, "not json"],
      [6, '{"id":3}'],
    ]);
  });

  test("may have lines of exactly the limit, without their line breaks", () => {
    const line = "x".repeat(200);
    expect(readable("ndjson", `${line}\r\n${line}\n${line}`)).toEqual([1, 2, 3].map((at) => [at, line]));
  });

  test("continues after a line that is too long", () => {
    const { rows } = readAll("ndjson", `1\n${"x".repeat(1000)}\n3\n${"y".repeat(201)}`);
    const long = expect.stringContaining("longer than 200 bytes");
    expect(rows.map(({ line, problem }) => [line, problem?.message])).toEqual([
      [1, undefined],
      [2, long],
      [3, undefined],
      [4, long],
    ]);
    expect(rows[1]?.source).toBeUndefined();
  });
});

describe("a JSON array", () => {
  test("has a row for each element, with its source text and line", () => {
    const text =
      '\n[ {"id": 9007199254740993, "name": "a,]}\\"\\\\"},\n\n  {"id":2,\n "more":[1,{"x":[]}]} ,3, "s" ]\n';
    expect(readable("json", text)).toEqual([
      [2, '{"id": 9007199254740993, "name": "a,]}\\"\\\\"}'],
      [4, '{"id":2,\n "more":[1,{"x":[]}]}'],
      [5, "3"],
      [5, '"s"'],
    ]);
    expect(readable("json", "[]")).toEqual([]);
  });

  const notJson = "Line 1, element 2: The row is not valid JSON:";
  const long = "The element is longer than 200 bytes";
  test.each([
    ["a missing comma", '[0,{"id":1}\n{"id":2},\n3]', `${notJson} at line 2, column 1, expected nothing`],
    ["an unclosed string", '[0,\n{"id":1,"name":"a},\n{}]', "Line 2, element 2: The file ends inside"],
    ["a brace too many", '[0,{"id":1}},{"id":2}]', `${notJson} at column 9 of the row, expected nothing`],
    ["the wrong bracket", '[0,{"id":1]]', `${notJson} at column 8 of the row, expected a comma or }`],
    ["text after the end", "[0]\n2 3", "Line 2: There is text after the end of the array."],
    ["a comma at the end", "[0,\n]", "Line 2, element 2: A value is missing."],
    ["an element that is too long", `[0,\n{"a":"${"x".repeat(300)}"},7]`, `Line 2, element 2: ${long}`],
  ])("with %s ends there", (_, text, problem) => {
    expect(readable("json", text)).toEqual([[1, "0"], expect.stringContaining(problem)]);
  });

  test("is refused if the file has none", () => {
    expect(() => readAll("json", " ")).toThrow("contains no JSON array");
  });
});

describe("CSV", () => {
  test("reads columns in any order, quotes and line breaks in quotes, and ids as they are written", () => {
    const rows = [
      "tag,note,name,id",
      "indoor,x,Fern,1",
      ',,"Lily, ""white""",-2',
      '"",y,Ivy,3',
      't,y,"two\r\nlines",4',
      "t,z,Oak,9223372036854775807",
      "t,z,Ivy,x1",
      "t,z,Moss,1.0",
    ];
    expect(readable("csv", rows.join("\r\n"))).toEqual([
      [2, '{"id":1,"name":"Fern","tag":"indoor"}'],
      [3, '{"id":-2,"name":"Lily, \\"white\\""}'],
      [4, '{"id":3,"name":"Ivy","tag":""}'],
      [5, '{"id":4,"name":"two\\r\\nlines","tag":"t"}'],
      [7, '{"id":9223372036854775807,"name":"Oak","tag":"t"}'],
      [8, '{"id":"x1","name":"Ivy","tag":"t"}'],
      [9, '{"id":1.0,"name":"Moss","tag":"t"}'],
    ]);
  });

  test.each([";", "\t"])("reads columns that %j separates, by their header", (separator) => {
    const text = '"ID",tag,name\r\n1,"a,b;c\td",x\n2,"",y\n3,,z\n'.replaceAll(/,(?!b)/g, separator);
    expect(readable("csv", text)).toEqual([
      [2, '{"id":1,"name":"x","tag":"a,b;c\\td"}'],
      [3, '{"id":2,"name":"y","tag":""}'],
      [4, '{"id":3,"name":"z"}'],
    ]);
  });

  test("has the exact bytes of each row, without the empty lines before it", () => {
    const sources = ['1,"a ""b"""', '2,"two\r\nlines"', "3,\ufffd", " 4,\r", "5"];
    const { rows } = readAll("csv", `\r\n\nid,name\r\n\r\n${sources.join("\r\n\n")}`);
    expect(rows.map(({ source }) => decode(source))).toEqual(sources);
    expect(rows.map(({ line }) => line)).toEqual([5, 7, 10, 12, 14]);
  });

  test("refuses only the row that is not UTF-8", () => {
    const bad = new Uint8Array([...encode("id,name\n1,"), 0xff, ...encode("\n2,b\n3,\n")]);
    expect(readable("csv", bad)).toEqual([
      [2, "The row is not UTF-8."],
      [3, '{"id":2,"name":"b"}'],
      [4, '{"id":3,"name":""}'],
    ]);
  });

  test("refuses only the rows of another length than the header", () => {
    expect(readable("csv", "id,name\n1\n2,a,b\n,\n")).toEqual([
      [2, "The row has 1 field, but the header has 2."],
      [3, "The row has 3 fields, but the header has 2."],
      [4, '{"id":"","name":""}'],
    ]);
  });

  test("refuses a row that is too long with all the lines inside its quotes", () => {
    expect(readable("csv", `id,name\n1,"${"2,inside\n".repeat(40)}"\n3,c\n`)).toEqual([
      [2, expect.stringContaining("longer than 200 bytes")],
      [43, '{"id":3,"name":"c"}'],
    ]);
  });

  test("refuses only the ids in exponent form", () => {
    const exponents = "id;name\n9.00719925474099E+15;a\n9,00719925474099E+15;b\n1e3;c\n7;1E+5\n";
    expect(readable("csv", exponents)).toEqual([
      [2, expect.stringContaining("The id 9.00719925474099E+15 is in exponent form")],
      [3, expect.stringContaining("The id 9,00719925474099E+15 is in exponent form")],
      [4, expect.stringContaining("The id 1e3 is in exponent form")],
      [5, '{"id":7,"name":"1E+5"}'],
    ]);
  });

  test.each([
    ['2,5" pot\n3,b\n', "has a quote inside a field that does not start with one."],
    ['2,"b"c\n3,b\n', "has text after the closing quote of a field."],
    ['2,"open\n3,b\n', "has a quoted field that is never closed."],
  ])("ends at %j, with its line and what to do, before that row", (row, problem) => {
    const { rows, broken } = readAll("csv", `id,name\n1,"a\r\nb"\n\n${row}`);
    expect(rows).toMatchObject([{ line: 2 }]);
    const remedy = 'Put the field in quotes and double each quote inside it, as in "5"" pot".';
    expect(broken).toBe(`The row that starts on line 5 ${problem} ${remedy}`);
  });

  test.each([
    ["an open quote", `"${"2,inside\n".repeat(500)}`],
    ["no line break", "x".repeat(5000)],
  ])("a row with %s ends it before it fills the memory", (_, endless) => {
    const reader = rowReaderFor("csv", rowBytesMax);
    reader.push(encode("id,name\n1,a\n2,"));
    let pushed = 0;
    for (; reader.broken === undefined && pushed < endless.length; pushed += 100)
      reader.push(encode(endless.slice(pushed, pushed + 100)));
    expect(reader.broken).toContain("The row that starts on line 3 does not end within 800 bytes.");
    expect(pushed).toBeLessThan(1000);
    // The same in one piece, even if the row ends.
    const ended = encode(`id,name\n2,${endless}${endless.startsWith('"') ? '"' : ""}\n3,b\n`);
    expect(read("csv", ended, 1_000_000).broken).toContain("line 2 does not end within 800 bytes");
  });

  test.each([
    ["", "needs a header"],
    ["1,Fern\n", '"id" is missing'],
    ["id|name\n1|x", "separated by commas, semicolons or tabs"],
    ["id,name,ID\n", '"id" twice'],
    ['id,"name\n1,x', "cannot be read"],
    [`id,name${"x".repeat(300)}\n`, "The header is longer than 200 bytes"],
  ])("with the header %j is refused", (text, message) =>
    expect(() => read("csv", encode(text), 1_000_000)).toThrow(message),
  );
});

test("the format is detected from the name and the first bytes", () => {
  const files: [name: string, opening: string, format: FileFormat][] = [
    ["plants.csv", "id,name", "csv"],
    ["plants.json", " [", "json"],
    ["plants.json", '{"id":1}', "ndjson"],
    ["plants.jsonl", "", "ndjson"],
    ["-", '\ufeff\n[{"id"', "json"],
    ["-", "name,id\n", "csv"],
    ["-", "what", "ndjson"],
  ];
  expect(files.map(([name, opening]) => [name, opening, detectFormat(name, encode(opening))])).toEqual(files);
  expect(() => detectFormat("plants.xlsx", encode("PK\u0003\u0000"))).toThrow("The file is binary");
});

test.each([
  ["id,n", "ame\n", "csv"],
  ["\n", '[{"id"', "json"],
])("a file that starts with %j is read on to its first line", async (first, rest, format) => {
  async function* chunks() {
    yield encode(first);
    yield encode(rest);
  }
  const { opening } = await openSource(chunks());
  expect(decode(opening)).toEqual(first + rest);
  expect(String(detectFormat("-", opening))).toBe(format);
});

test("UTF-16 without a mark and a truncated gzip file are refused with what to do", async () => {
  async function readAllOf(bytes: Uint8Array): Promise<void> {
    async function* chunks() {
      yield Uint8Array.from(bytes);
    }
    for await (const _ of (await openSource(chunks())).chunks);
  }
  const unmarked = Buffer.from("id,name\n1,a\n", "utf16le");
  await expect(readAllOf(unmarked)).rejects.toThrow("Convert it to UTF-8 first");
  const truncated = gzipSync(largeText).subarray(0, -5);
  await expect(readAllOf(truncated)).rejects.toThrow("The file cannot be decompressed.");
});

const largeText = encode(`id,name\n${Array.from({ length: 100_000 }, (_, id) => `${id},Fern\n`).join("")}`);
test.each([
  ["plain", largeText],
  ["compressed", Uint8Array.from(gzipSync(largeText))],
])("a %s file is closed when its reader stops early", async (_, bytes) => {
  let isClosed = false;
  async function* chunks() {
    try {
      for (let at = 0; at < bytes.length; at += 1000) yield bytes.slice(at, at + 1000);
    } finally {
      isClosed = true;
    }
  }
  const source = await openSource(chunks());
  for await (const _chunk of source.chunks) break;
  expect(isClosed).toBe(true);
});
