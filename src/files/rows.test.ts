import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { FormatError } from "./input-row.ts";
import { detectFormat, type FileFormat, readRows, rowReaderFor } from "./read-rows.ts";

const rowBytesMax = 200;
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes);

async function* inPieces(bytes: Uint8Array<ArrayBuffer>, lengths: readonly number[]) {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const end = at + (lengths[turn % lengths.length] ?? 1);
    yield bytes.slice(at, end);
    at = end;
  }
}

async function read(format: FileFormat, text: string | Uint8Array<ArrayBuffer>, lengths = [7]) {
  const rows = [];
  const bytes = typeof text === "string" ? encode(text) : text;
  for await (const row of readRows(inPieces(bytes, lengths), rowReaderFor(format, rowBytesMax)))
    rows.push(row);
  return rows;
}

/** Each row as its line and what would be sent, or its line and its error. */
async function readable(format: FileFormat, text: string | Uint8Array<ArrayBuffer>, lengths?: number[]) {
  const rows = await read(format, text, lengths);
  return rows.map(({ line, json, error }) => [line, error ?? decode(json)]);
}

describe("NDJSON", () => {
  test("has a row on each line that is not empty", async () => {
    expect(await readable("ndjson", '\ufeff{"id":1}\r\n\n  \n{"id":2}\nnot json\n{"id":3}')).toEqual([
      [1, '{"id":1}'],
      [4, '{"id":2}'],
      [5, "not json"],
      [6, '{"id":3}'],
    ]);
  });

  test("continues after a line that is too long", async () => {
    const rows = await read("ndjson", `1\n${"x".repeat(1000)}\n3\n${"y".repeat(201)}`);
    expect(rows.map(({ line, error }) => [line, error === undefined])).toEqual([
      [1, true],
      [2, false],
      [3, true],
      [4, false],
    ]);
    expect(rows[1]).toMatchObject({ source: undefined, error: expect.stringContaining("200 bytes") });
  });
});

describe("a JSON array", () => {
  test("has a row for each element, with its source text and line", async () => {
    const text =
      '\n[ {"id": 9007199254740993, "name": "a,]}\\"\\\\"},\n\n  {"id":2,\n "more":[1,{"x":[]}]} ,3, "s" ]\n';
    expect(await readable("json", text)).toEqual([
      [2, '{"id": 9007199254740993, "name": "a,]}\\"\\\\"}'],
      [4, '{"id":2,\n "more":[1,{"x":[]}]}'],
      [5, "3"],
      [5, '"s"'],
    ]);
    expect(await readable("json", "[]")).toEqual([]);
    expect(await readable("json", " [ ] [1] ")).toEqual([[1, "1"]]);
  });

  const broken: [string, string, (string | number)[][]][] = [
    [
      "a missing comma",
      '[{"id":1}\n{"id":2},\n{"id":3}]',
      [
        [1, '{"id":1}\n{"id":2}'],
        [3, '{"id":3}'],
      ],
    ],
    [
      "an unclosed string",
      '[\n{"id":1,"name":"a},\n{"id":2}\n]',
      [
        [2, '{"id":1,"name":"a}'],
        [3, '{"id":2}'],
      ],
    ],
    [
      "an unclosed object",
      '[{"id":1,"name":"a",\n{"id":2},{"id":3}]',
      [
        [1, '{"id":1,"name":"a"'],
        [2, '{"id":2}'],
        [2, '{"id":3}'],
      ],
    ],
    [
      "a brace too many",
      '[{"id":1}},{"id":2}]',
      [
        [1, '{"id":1}}'],
        [1, '{"id":2}'],
      ],
    ],
    [
      "a missing end",
      '[{"id":1},\n{"id',
      [
        [1, '{"id":1}'],
        [2, '{"id'],
        [2, "The array is not closed; the file may be truncated."],
      ],
    ],
    [
      "text after the end",
      "[1]\n2 3",
      [
        [1, "1"],
        [2, "There is text after the end of the array; it was not read."],
      ],
    ],
  ];
  for (const [what, text, rows] of broken) {
    test(`with ${what} still has the other rows`, async () =>
      expect(await readable("json", text)).toEqual(rows));
  }

  test("continues after an element that is too long or too deep", async () => {
    const rows = await read("json", `[${"[".repeat(300)}${"]".repeat(300)},\n{"a":"${"x".repeat(300)}"},7]`);
    expect(rows.map(({ line, error }) => [line, error === undefined])).toEqual([
      [1, false],
      [2, false],
      [2, true],
    ]);
  });

  test("is refused if the file has another format", async () => {
    expect(read("json", '{"id":1}')).rejects.toThrow(FormatError);
    expect(read("json", " ")).rejects.toThrow("contains no JSON array");
  });
});

describe("CSV", () => {
  test("reads columns in any order, quotes and line breaks in quotes, and distinguishes no tag from an empty one", async () => {
    const text =
      '\ufefftag,note,name,id\r\nindoor,x,Fern,1\r\n,,"Lily, ""white""",-2\n"",y,"two\r\nlines",9223372036854775807\n\nt,z,Ivy,x1\nt,z,Moss,1.0';
    expect(await readable("csv", text)).toEqual([
      [2, '{"id":1,"name":"Fern","tag":"indoor"}'],
      [3, '{"id":-2,"name":"Lily, \\"white\\""}'],
      [4, '{"id":9223372036854775807,"name":"two\\r\\nlines","tag":""}'],
      [7, '{"id":"x1","name":"Ivy","tag":"t"}'],
      [8, '{"id":1.0,"name":"Moss","tag":"t"}'],
    ]);
  });

  test("refuses an invalid row by its line, and resumes at the next line", async () => {
    const text = 'id,name\n1\n2,a"b\n3,"c"d\n4,ok\n5,"open\n6,fine\n7,"x"y\n8,last';
    expect(await readable("csv", text)).toEqual([
      [2, "The row has 1 field, but the header has 2."],
      [3, "A field that does not start with a quote contains one."],
      [4, "There is text after the closing quote of a field."],
      [5, '{"id":4,"name":"ok"}'],
      [6, "There is text after the closing quote of a field."],
      [7, '{"id":6,"name":"fine"}'],
      [8, "There is text after the closing quote of a field."],
      [9, '{"id":8,"name":"last"}'],
    ]);
    expect(await readable("csv", 'id,name\n1,"a\n2,b\n')).toEqual([
      [2, "The quoted field that starts on line 2 is never closed."],
      [3, '{"id":2,"name":"b"}'],
    ]);
  });

  test("refuses rows that are not UTF-8 or too long", async () => {
    const bad = new Uint8Array([...encode("id,name\n1,"), 0xff, ...encode("\n2,b\n3,")]);
    expect(await readable("csv", bad)).toEqual([
      [2, "The row is not UTF-8."],
      [3, '{"id":2,"name":"b"}'],
      [4, '{"id":3,"name":""}'],
    ]);
    const long = `id,name\n1,${"x".repeat(300)}\n2,"${"y\n".repeat(450)}\n3,c\n`;
    const rows = await read("csv", long);
    expect(rows[0]).toMatchObject({ line: 2, source: undefined });
    expect(rows[1]).toMatchObject({
      line: 3,
      error: "The quoted field that starts on line 3 does not end within 800 bytes.",
    });
    expect(decode(rows.at(-1)?.json)).toBe('{"id":3,"name":"c"}');
  });

  test("does not send the lines inside a quoted field that is too long", async () => {
    const text = `id,name\n1,"${"2,inside\n".repeat(40)}"\n3,c\n`;
    for (const lengths of [[7], [1_000_000]]) {
      expect(await readable("csv", text, lengths)).toEqual([
        [2, expect.stringContaining("longer than 200 bytes")],
        [43, '{"id":3,"name":"c"}'],
      ]);
    }
  });

  test("an unclosed quote costs one line, and no more memory than a few rows", () => {
    const reader = rowReaderFor("csv", rowBytesMax);
    const line = encode(`${"x".repeat(99)}\n`);
    let refused = reader.push(encode('id,name\n1,"'));
    for (let count = 0; count < 20; count++) refused = [...refused, ...reader.push(line)];
    // Seven of the hundred-byte lines may still belong to the open field; the others have been returned by then.
    expect(refused.length).toBeGreaterThanOrEqual(13);
    expect(refused[0]?.error).toBe("The quoted field that starts on line 2 does not end within 800 bytes.");
    expect([...refused, ...reader.end()]).toHaveLength(20);
  });

  test("reports the line where the quote opens, even within a record of several lines", async () => {
    expect(await readable("csv", 'id,name,tag\n1,"two\nlines","open\n3,c,d\n')).toEqual([
      [2, "The quoted field that starts on line 3 is never closed."],
      [3, "A field that does not start with a quote contains one."],
      [4, '{"id":3,"name":"c","tag":"d"}'],
    ]);
  });

  test("a stray quote on each of 100,000 lines costs less than two seconds of CPU time", async () => {
    for (const row of ['1,"open\n', '1,5" pot\n', '1,ok\n2,"a"b\n']) {
      const file = encode(`id,name\n${row.repeat(100_000)}`);
      const before = process.cpuUsage();
      let refused = 0;
      for await (const { error } of readRows(inPieces(file, [65_536]), rowReaderFor("csv", 65_536)))
        if (error !== undefined) refused++;
      const { user, system } = process.cpuUsage(before);
      expect(refused).toBe(100_000);
      expect(user + system).toBeLessThan(2_000_000);
    }
  });

  test("reads both kinds of line breaks, a missing last one, and an empty line before a refused row", async () => {
    expect(await readable("csv", 'id,name\r\n1,"a"\r\n\r\n\n2,b"c\n3,d\re\r\n4,"f"\r')).toEqual([
      [2, '{"id":1,"name":"a"}'],
      [5, "A field that does not start with a quote contains one."],
      [6, '{"id":3,"name":"d\\re"}'],
      [7, '{"id":4,"name":"f"}'],
    ]);
  });

  for (const separator of [";", "\t"]) {
    test(`reads columns that ${JSON.stringify(separator)} separates, by their header`, async () => {
      const text = '"ID",tag,name\r\n1,"a,b;c\td",x\n2,"",y\n3,,z\n'.replaceAll(/,(?!b)/g, separator);
      expect(await readable("csv", text)).toEqual([
        [2, '{"id":1,"name":"x","tag":"a,b;c\\td"}'],
        [3, '{"id":2,"name":"y","tag":""}'],
        [4, '{"id":3,"name":"z"}'],
      ]);
    });
  }

  test("refuses an id in exponent form, as a spreadsheet saves a long number, but not a name", async () => {
    const rows = await readable(
      "csv",
      "id;name\n9.00719925474099E+15;a\n9,00719925474099E+15;b\n1e3;c\n7;1E+5\n",
    );
    expect(rows.map(([line, text]) => [line, String(text).slice(0, 46)])).toEqual([
      [2, "The id 9.00719925474099E+15 is in exponent for"],
      [3, "The id 9,00719925474099E+15 is in exponent for"],
      [4, "The id 1e3 is in exponent form, as spreadsheet"],
      [5, '{"id":7,"name":"1E+5"}'],
    ]);
  });

  const headers: [string, string][] = [
    ["", "needs a header"],
    ["1,Fern\n", '"id" is missing'],
    ["id|name\n1|x", "separated by commas, semicolons or tabs"],
    ["id,name,ID\n", '"id" twice'],
    ['id,"name\n1,x', "cannot be read"],
  ];
  for (const [text, message] of headers) {
    test(`with the header ${JSON.stringify(text)} is refused`, () =>
      expect(read("csv", text)).rejects.toThrow(message));
  }
});

const pieces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });
for (const format of ["ndjson", "json", "csv"] as const) {
  test(`${format} has the same rows in any split of its bytes`, async () => {
    const alphabet = fc.constantFrom(
      ...'[]{},"\\\r\n \taé1-:',
      '{"id":1}',
      ',\n{"id":2,',
      '"a""b"',
      "\r\n1,x\r\n",
    );
    const text = fc.array(alphabet, { maxLength: 300 }).map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(text, pieces, async (body, lengths) => {
        const whole = (format === "json" ? "[" : format === "csv" ? "id,name\n" : "") + body;
        expect(await readable(format, whole, lengths)).toEqual(await readable(format, whole, [1_000_000]));
      }),
      { numRuns: 300 },
    );
  });
}

test("every plant written as CSV is read back exactly", async () => {
  const text = fc.string({ unit: "binary", maxLength: 20 }).filter((value) => !value.startsWith("\ufeff"));
  const plant = fc.record({
    id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    name: text,
    tag: fc.option(text, { nil: undefined }),
  });
  const quoted = (value: string) => `"${value.replaceAll('"', '""')}"`;
  await fc.assert(
    fc.asyncProperty(fc.array(plant), pieces, async (plants, lengths) => {
      const file = plants.map(
        ({ id, name, tag }) => `${id},${quoted(name)},${tag === undefined ? "" : quoted(tag)}\r\n`,
      );
      const rows = await readable("csv", `id,name,tag\r\n${file.join("")}`, lengths);
      expect(rows.map(([, json]) => json)).toEqual(
        plants.map(({ id, name, tag }) => `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`),
      );
    }),
  );
});

test("the format is detected from the name and the first bytes", () => {
  const guesses: [string, string, FileFormat][] = [
    ["plants.csv", "id,name", "csv"],
    ["plants.json", " [", "json"],
    ["plants.json", '{"id":1}', "ndjson"],
    ["plants.jsonl", "", "ndjson"],
    ["-", '\ufeff\n[{"id"', "json"],
    ["-", "name,id\n", "csv"],
    ["-", "what", "ndjson"],
  ];
  for (const [name, opening, format] of guesses)
    expect([name, opening, detectFormat(name, encode(opening))]).toEqual([name, opening, format]);
  expect(() => detectFormat("plants.xlsx", encode("PK\u0003\u0000"))).toThrow("The file is binary");
});
