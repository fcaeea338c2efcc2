import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { int64Max, int64Min } from "./int64.ts";
import { parseNewPlant, scanPlainPlant } from "./parse-new-plant.ts";
import { readPlant } from "./read-plant.ts";
import { Refusal, type RefusalKind } from "./refusals.ts";

const encode = (text: string) => Buffer.from(text);
const parse = (text: string) => parseNewPlant(encode(text));

const refusal = (text: string) => parse(text) as Refusal;

test("a plant is read from its part of the bytes that arrived", () => {
  const body = '{"id":1,"name":"fern"}';
  const bytes = encode(`POST${body}POST`);
  expect(parseNewPlant(bytes, 4, 4 + body.length)).toEqual({ id: 1n, name: "fern", tag: undefined });
  expect(parseNewPlant(bytes, 4, 3 + body.length)).toHaveProperty("kind", "not-json");
});

test("a replacement character that the client has sent is stored", () => {
  expect(parse('{"id":1,"name":"\ufffd"}')).toEqual({ id: 1n, name: "\ufffd", tag: undefined });
});

test.each<[what: string, body: string, plant: { id: bigint; name: string; tag?: string }]>([
  ["the id -0 and empty texts", '{"tag":"","name":"","id":-0}', { id: 0n, name: "", tag: "" }],
  ["white space", ' \t\r\n{ "id" : 1 , "name" : "a" } \n', { id: 1n, name: "a" }],
  ["the id 1.0", '{"id":1.0,"name":"a"}', { id: 1n, name: "a" }],
  [
    "an id that is not exact as a double",
    '{"id":9007199254740993,"name":"a"}',
    { id: 9007199254740993n, name: "a" },
  ],
  ["escapes in the names of fields", '{"\\u0069d":7,"n\\u0061me":"x"}', { id: 7n, name: "x" }],
  [
    "every kind of escape in a text",
    '{"id":1,"name":"\\ud83c\\udf31 \\"\\\\\\/\\b\\f\\n\\r\\t"}',
    { id: 1n, name: '🌱 "\\/\b\f\n\r\t' },
  ],
  [
    "fields that every object inherits",
    '{"__proto__":{"x":1},"id":1,"name":"a","constructor":null}',
    { id: 1n, name: "a" },
  ],
  [
    "another field with every kind of value",
    '{"other":[1,{"a":[]},{},[[]],-1.5e+3,true,false,null,"\\u0000"],"id":1,"name":"a"}',
    { id: 1n, name: "a" },
  ],
  [
    "20,000 nested arrays",
    `{"deep":${"[".repeat(20_000)}${"]".repeat(20_000)},"id":1,"name":"a"}`,
    { id: 1n, name: "a" },
  ],
  [
    "9,000 nested objects",
    `{"deep":${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)},"id":1,"name":"a"}`,
    { id: 1n, name: "a" },
  ],
])("a plant is accepted with %s", (_, body, plant) => {
  expect(parse(body)).toEqual({ tag: undefined, ...plant });
});

describe("a body is refused", () => {
  const refused: [string, RefusalKind, string][] = [
    ["", "body-empty", "The body is empty."],
    [" ", "not-json", "line 1, column 2, expected a value but the body ends"],
    ["{", "not-json", "line 1, column 2, expected a name or } but the body ends"],
    ['{"id":1,}', "not-json", "line 1, column 9, expected a name but found }"],
    ['{"id":1 "name":"a"}', "not-json", "line 1, column 9, expected a comma or }"],
    ['{\n  "id": 1,\n  "nåme": x\n}', "not-json", "line 3, column 11, expected a value but found x"],
    ['{"🌱🌱":x}', "not-json", "line 1, column 7"],
    ['{"id":01,"name":"a"}', "not-json", "column 8"],
    ['{"id":1.,"name":"a"}', "not-json", "expected a digit"],
    ['{"id":1,"name":"a\nb"}', "not-json", "U+000A"],
    ['{"id":1,"name":"a\\x"}', "not-json", "an escape"],
    ['{"id":1,"name":"\\u12"}', "not-json", "an escape"],
    ['{"id":1,"name":"a', "not-json", "a closing quote but the body ends"],
    ['{"id":1,"name":"a"} x', "not-json", "nothing after the value but found x"],
    ['{"id":1,"name":tru}', "not-json", "expected a value"],
    ['{"a":[1,]}', "not-json", "expected a value but found ]"],
    ['{"a":[1}', "not-json", "expected a comma or ]"],
    ['{"id":1,"name":"\\ud800"}', "not-text", "line 1, column 16"],
    ['{"x":["\\ud83c"],"id":1,"name":"a"}', "not-text", "an unpaired surrogate"],
    ['"plant"', "not-an-object", 'the string "plant"'],
    ["17", "not-an-object", "the number 17"],
    ['{"id":1,"id":2,"name":"a"}', "name-repeated", '"id" appears more than once'],
    ['{"x":1,"y":1,"x":2,"y":1,"id":1,"name":"a"}', "name-repeated", '"x", "y" each appear'],
    [
      "{}",
      "field-missing",
      'Field "id" is missing; expected an integer. Field "name" is missing; expected a string.',
    ],
    ['{"id":1,"name":"a","tag":null}', "wrong-type", 'Field "tag" must be a string, but is null. Omit it'],
    ['{"id":true,"name":["a"],"tag":{}}', "wrong-type", 'Field "name" must be a string, but is an array.'],
    ['{"id":1.5,"name":"a"}', "not-int64", "but is 1.5."],
    ['{"id":1,"name":"a\\u0000b"}', "holds-nul", 'Field "name"'],
    ['{"id":"x","name":5,"tag":"\\u0000"}', "wrong-type", 'Field "tag" contains the character U+0000'],
    ['{"name":5}', "field-missing", 'Field "id" is missing; expected an integer. Field "name" must be'],
  ];
  test.each(refused)("%j", (body, kind, message) => {
    expect(refusal(body)).toMatchObject({ kind, message: expect.stringContaining(message) });
  });

  test.each([
    ["an overlong character", [...encode('{"id":1,"name":"'), 0xc0, 0xaf, ...encode('"}')]],
    ["half a character at the end", [...encode('{"id":1,"name":"a"}'), 0xe2, 0x82]],
    ["a byte order mark", [0xef, 0xbb, 0xbf, ...encode('{"id":1,"name":"a"}')]],
  ])("%s", (_, bytes) => expect(parseNewPlant(Buffer.from(bytes))).toHaveProperty("kind", "not-text"));

  test("a plain plant with bytes that are not UTF-8 in its name, whichever they are", () => {
    const strict = new TextDecoder("utf-8", { fatal: true });
    const byte = fc.constantFrom(
      0x00,
      0x41,
      0x7f,
      0x80,
      0xa0,
      0xbf,
      0xc2,
      0xe0,
      0xed,
      0xef,
      0xf0,
      0xf4,
      0xff,
    );
    let refused = 0;
    fc.assert(
      fc.property(fc.array(fc.oneof(byte, fc.nat(255)), { minLength: 1, maxLength: 4 }), (name) => {
        fc.pre(attempt(() => strict.decode(Uint8Array.from(name))) instanceof Error);
        const body = Buffer.concat([encode('{"id":1,"name":"'), Buffer.from(name), encode('"}')]);
        expect(parseNewPlant(body)).toHaveProperty("kind", "not-text");
        refused++;
      }),
      { numRuns: 5000 },
    );
    expect(refused).toBeGreaterThan(1000);
  });

  test("a long value is truncated in the message", () => {
    expect(refusal(`{"id":"${"x".repeat(9000)}","name":"a"}`).message.length).toBeLessThan(150);
    expect(refusal(`{"id":${"9".repeat(9000)},"name":"a"}`).message.length).toBeLessThan(200);
  });

  test("many repeated names stay a short message", () => {
    const names = Array.from({ length: 5000 }, (_, index) => `"n${index}":1`).join(",");
    expect(refusal(`{${names},${names}}`).message.length).toBeLessThan(200);
  });

  test.each([
    ["arrays", "[".repeat(65_000)],
    ["objects", '{"a":'.repeat(13_000)],
    ["escapes", `"${"\\u0041".repeat(10_000)}"`],
    ["digits", `{"id":${"1".repeat(65_000)}}`],
  ])("as many %s as fit", (_, body) => expect(refusal(body)).toBeInstanceOf(Refusal));
});

describe("for any input", () => {
  const name = fc.string({ unit: "binary" }).filter((text) => !text.includes("\u0000"));
  const plant = fc.record(
    { id: fc.bigInt({ min: int64Min, max: int64Max }), name, tag: name },
    { requiredKeys: ["id", "name"] },
  );

  test("a valid plant is read exactly, whatever the order of its members", () => {
    fc.assert(
      fc.property(plant, fc.boolean(), fc.nat(3), ({ id, ...rest }, idLast, spaces) => {
        const members = [
          `"id":${id}`,
          ...Object.entries(rest).map(([key, text]) => `"${key}":${JSON.stringify(text)}`),
        ];
        const ordered = idLast ? members.reverse() : members;
        expect(parse(`{${ordered.join(`,${" ".repeat(spaces)}`)}}`)).toEqual({ id, tag: undefined, ...rest });
      }),
    );
  });

  test("the plain scan changes no result of the careful parser", () => {
    const nearly = fc
      .tuple(
        fc.constantFrom('{"id":12,"name":"ab","tag":"c"}', '{"id": 5, "name": "x"}'),
        fc.nat(40),
        fc.string({ maxLength: 2 }),
      )
      .map(([text, at, change]) => text.slice(0, at) + change + text.slice(at + 1));
    const value = fc.constantFrom(...'1 0 01 -1 999999999999999 9999999999999999 "a" "é" ""'.split(" "));
    const member = fc
      .tuple(fc.constantFrom("id", "name", "tag", "other"), fc.constantFrom(":", ": ", " :"), value)
      .map(([name, colon, text]) => `"${name}"${colon}${text}`);
    const members = fc
      .tuple(fc.array(member, { maxLength: 4 }), fc.constantFrom(",", ", ", " ,", ",  "))
      .map(([list, comma]) => `{${list.join(comma)}}`);
    const texts = fc.oneof(members, nearly);
    let scans = 0;
    fc.assert(
      fc.property(fc.oneof(texts.map(encode), fc.uint8Array({ minLength: 1, maxLength: 100 })), (bytes) => {
        const body = Buffer.from(bytes);
        if (scanPlainPlant(body.toString()) !== undefined) scans++;
        expect(parseNewPlant(body)).toEqual(readPlant(bytes));
      }),
      { numRuns: 5000 },
    );
    expect(scans).toBeGreaterThan(20);
  });

  test("a body is accepted as JSON exactly if JSON.parse accepts it", () => {
    const change = fc.constantFrom("", " ", "\u0001", ...'{ } [ ] , : " \\ 0 - . e'.split(" "));
    const mutated = fc
      .tuple(fc.json(), fc.nat(60), change)
      .map(([text, at, change]) => text.slice(0, at) + change + text.slice(at + 1));
    fc.assert(
      fc.property(fc.oneof(fc.json(), mutated), (text) => {
        fc.pre(text !== "" && text.isWellFormed() && !text.startsWith("\ufeff"));
        const isJson = !(attempt(() => JSON.parse(text)) instanceof SyntaxError);
        const result = parse(text);
        expect(result instanceof Refusal && result.kind === "not-json").toBe(!isJson);
      }),
      { numRuns: 2000 },
    );
  });
});

function attempt(read: () => unknown): unknown {
  try {
    return read();
  } catch (thrown) {
    return thrown;
  }
}
