import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { BrokenFile, FormatError, type InputRow } from "./input-row.ts";
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
  const rows: InputRow[] = [];
  const bytes = typeof text === "string" ? encode(text) : text;
  let broken: string | undefined;
  try {
    for await (const row of readRows(inPieces(bytes, lengths), rowReaderFor(format, rowBytesMax)))
      rows.push(row);
  } catch (error) {
    if (!(error instanceof BrokenFile)) throw error;
    broken = error.message;
  }
  return { rows, broken };
}

/** Each row as its line and what would be sent, or its line and its error; at the end, why the file is broken. */
async function readable(format: FileFormat, text: string | Uint8Array<ArrayBuffer>, lengths?: number[]) {
  const { rows, broken } = await read(format, text, lengths);
  const readable: [number | "broken", string | undefined][] = rows.map(({ line, json, error }) => [
    line,
    error ?? decode(json),
  ]);
  return broken === undefined ? readable : [...readable, ["broken", broken] as const];
}

describe("NDJSON", () => {
  test("has a row on each line that is not empty", async () => {
    expect(await readable("ndjson", '{"id":1}\r\n\n  \n{"id":2}\nnot json\n{"id":3}')).toEqual([
      [1, '{"id":1}'],
      [4, '{"id":2}'],
      [5, "not json"],
      [6, '{"id":3}'],
    ]);
  });

  test("continues after a line that is too long", async () => {
    const { rows } = await read("ndjson", `1\n${"x".repeat(1000)}\n3\n${"y".repeat(201)}`);
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
  });

  const broken: [what: string, text: string, firstRow: string | undefined, problem: string][] = [
    [
      "a missing comma",
      '[0,{"id":1}\n{"id":2},\n{"id":3}]',
      "0",
      "Line 1, element 2: The row is not valid JSON: at line 2, column 1, expected nothing after the value but found {.",
    ],
    [
      "an unclosed string",
      '[0,\n{"id":1,"name":"a},\n{"id":2,"name":"b"}\n]',
      "0",
      "Line 2, element 2: The file ends inside the array. A quote or a bracket may be missing, or the rest of the file.",
    ],
    [
      "an unclosed object",
      '[0,{"id":1,"name":"a",\n{"id":2},{"id":3}]',
      "0",
      "Line 1, element 2: The file ends inside the array. A quote or a bracket may be missing, or the rest of the file.",
    ],
    [
      "a brace too many",
      '[0,{"id":1}},{"id":2}]',
      "0",
      "Line 1, element 2: The row is not valid JSON: at column 9 of the row, expected nothing after the value but found }.",
    ],
    [
      "the wrong bracket",
      '[0,{"id":1]]',
      "0",
      "Line 1, element 2: The row is not valid JSON: at column 8 of the row, expected a comma or } but found ].",
    ],
    ["a missing end", '[{"id":1},\n{"id', '{"id":1}', "Line 2, element 2: The file ends inside the array"],
    ["a missing bracket", "[1", undefined, "Line 1, element 1: The file ends inside the array"],
    ["text after the end", "[1]\n2 3", "1", "Line 2: There is text after the end of the array."],
    ["a second array", " [ ] [1] ", undefined, "Line 1: There is text after the end of the array."],
    ["a comma at the end", "[1,\n]", "1", "Line 2, element 2: A value is missing."],
    ["two commas", "[1, ,2]", "1", "Line 1, element 2: A value is missing."],
    [
      "an element that is too long",
      `[7,\n{"a":"${"x".repeat(300)}"},7]`,
      "7",
      "Line 2, element 2: The element is longer than 200 bytes",
    ],
    [
      "an element that is too deep",
      `[7,${"[".repeat(300)}${"]".repeat(300)},7]`,
      "7",
      "Line 1, element 2: The element is longer than 200 bytes",
    ],
  ];
  for (const [what, text, firstRow, problem] of broken) {
    test(`with ${what} ends there, in any split of its bytes`, async () => {
      const first = firstRow === undefined ? [] : [[1, firstRow] as const];
      for (const lengths of [[1], [7], [1_000_000]])
        expect<unknown>(await readable("json", text, lengths)).toEqual([
          ...first,
          ["broken", expect.stringContaining(problem)],
        ]);
    });
  }

  test("is refused if the file has another format", async () => {
    expect(read("json", '{"id":1}')).rejects.toThrow(FormatError);
    expect(read("json", " ")).rejects.toThrow("contains no JSON array");
  });
});

describe("CSV", () => {
  test("reads columns in any order, quotes and line breaks in quotes, and distinguishes no tag from an empty one", async () => {
    const text =
      'tag,note,name,id\r\nindoor,x,Fern,1\r\n,,"Lily, ""white""",-2\n"",y,"two\r\nlines",9223372036854775807\n\nt,z,Ivy,x1\nt,z,Moss,1.0';
    expect(await readable("csv", text)).toEqual([
      [2, '{"id":1,"name":"Fern","tag":"indoor"}'],
      [3, '{"id":-2,"name":"Lily, \\"white\\""}'],
      [4, '{"id":9223372036854775807,"name":"two\\r\\nlines","tag":""}'],
      [7, '{"id":"x1","name":"Ivy","tag":"t"}'],
      [8, '{"id":1.0,"name":"Moss","tag":"t"}'],
    ]);
  });

  test("refuses a row with the wrong number of columns, and continues", async () => {
    expect(await readable("csv", "id,name\n1\n2,a,b\n3,ok\n,\n")).toEqual([
      [2, "The row has 1 field, but the header has 2."],
      [3, "The row has 3 fields, but the header has 2."],
      [4, '{"id":3,"name":"ok"}'],
      [5, '{"id":"","name":""}'],
    ]);
  });

  const remedy = ' Put the field in quotes and double each quote inside it, as in "5"" pot".';
  const broken: [string, string][] = [
    ['2,5" pot\n3,b\n', "has a quote inside a field that does not start with one."],
    ['2,"b"c\n3,b\n', "has text after the closing quote of a field."],
    ['2,"open\n3,b\n', "has a quoted field that is never closed."],
    ['2,"two\r\nlines",""\n3,"open\n4,b\n5,"c"\n', "has text after the closing quote of a field."],
  ];
  for (const [row, problem] of broken) {
    test(`ends at ${JSON.stringify(row)}, with its line and what to do`, async () => {
      const refused = row.startsWith('2,"two') ? [[4, "The row has 3 fields, but the header has 2."]] : [];
      const line = refused.length === 0 ? 4 : 6;
      for (const lengths of [[1], [7], [1_000_000]])
        expect(await readable("csv", `id,name\n1,a\n\n${row}`, lengths)).toEqual([
          [2, '{"id":1,"name":"a"}'],
          ...(refused as [number, string][]),
          ["broken", `The row that starts on line ${line} ${problem}${remedy}`],
        ]);
    });
  }

  test("refuses rows that are not UTF-8 or too long", async () => {
    const bad = new Uint8Array([...encode("id,name\n1,"), 0xff, ...encode("\n2,b\n3,")]);
    expect(await readable("csv", bad)).toEqual([
      [2, "The row is not UTF-8."],
      [3, '{"id":2,"name":"b"}'],
      [4, '{"id":3,"name":""}'],
    ]);
    const { rows } = await read("csv", `id,name\n1,${"x".repeat(300)}\n3,c\n`);
    expect(rows).toMatchObject([{ line: 2, source: undefined }, { line: 3 }]);
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

  for (const [what, endless] of [
    ["an open quote", `"${"2,inside\n".repeat(500)}`],
    ["no line break", "x".repeat(5000)],
    ["nothing but separators", ",".repeat(5000)],
  ] as const) {
    test(`a row with ${what} ends it before it fills the memory`, async () => {
      const reader = rowReaderFor("csv", rowBytesMax);
      reader.push(encode("id,name\n1,a\n2,"));
      let pushed = 0;
      for (; reader.broken === undefined && pushed < endless.length; pushed += 100)
        reader.push(encode(endless.slice(pushed, pushed + 100)));
      expect(reader.broken).toContain("The row that starts on line 3 does not end within 800 bytes.");
      expect(pushed).toBeLessThan(1000);
      // The same in one piece, even if the row ends.
      const ended = `${endless}${endless.startsWith('"') ? '"' : ""}`;
      expect((await read("csv", `id,name\n2,${ended}\n3,b\n`, [1_000_000])).broken).toContain("800 bytes");
    });
  }

  test("reads both kinds of line breaks, and a missing last one", async () => {
    expect(await readable("csv", 'id,name\r\n1,"a"\r\n\r\n\n3,d\re\r\n4,"f"\r')).toEqual([
      [2, '{"id":1,"name":"a"}'],
      [5, '{"id":3,"name":"d\\re"}'],
      [6, '{"id":4,"name":"f"}'],
    ]);
  });

  test("skips any number of empty lines", async () => {
    const text = `id,name\n1,a\n${"\r\n".repeat(2000)}2,b\n${"\n".repeat(2000)}`;
    for (const lengths of [[7], [1_000_000]])
      expect(await readable("csv", text, lengths)).toEqual([
        [2, '{"id":1,"name":"a"}'],
        [2003, '{"id":2,"name":"b"}'],
      ]);
  });

  test("has the exact bytes of each row, without the empty lines before it", async () => {
    const rows = ['1,"a ""b"""', '2,"two\r\nlines"', "3,\ufffd", " 4,\r", "5"];
    const { rows: read5 } = await read("csv", `\r\n\nid,name\r\n\r\n${rows.join("\r\n\n")}`);
    expect(read5.map(({ source }) => decode(source))).toEqual(rows);
    expect(read5.map(({ line }) => line)).toEqual([5, 7, 10, 12, 14]);
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
  const text = fc.string({ unit: "binary", maxLength: 20 });
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
