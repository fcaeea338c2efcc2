import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { int64Max, int64Min } from "./int64.ts";
import { parseNewPlant, scanPlainPlant } from "./parse-new-plant.ts";
import { readPlant } from "./read-plant.ts";
import { PlantRefusal, type PlantRefusalKind } from "./refusals.ts";

const encode = (text: string) => Buffer.from(text);
const parse = (text: string) => parseNewPlant(encode(text));

const refusal = (text: string) => parse(text) as PlantRefusal;

test("a plant is read from its part of the bytes that arrived", () => {
  const body = '{"id":1,"name":"fern"}';
  const bytes = encode(`POST${body}POST`);
  expect(parseNewPlant(bytes, 4, 4 + body.length)).toEqual({ id: 1n, name: "fern", tag: undefined });
  expect(parseNewPlant(bytes, 4, 3 + body.length)).toHaveProperty("kind", "not-json");
});

test("a plant is accepted with what a parser may trip over", () => {
  const fern = { id: 1n, name: "fern", tag: undefined };
  const inherited = '{"__proto__":{"x":1},"id":1,"name":"fern","constructor":null}';
  const arrays = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const objects = `${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)}`;
  expect(parse(inherited)).toEqual(fern);
  for (const deep of [arrays, objects]) expect(parse(`{"deep":${deep},"id":1,"name":"fern"}`)).toEqual(fern);
  // No double has this id.
  expect(parse('{"id":9007199254740993,"name":"fern"}')).toEqual({ ...fern, id: 9007199254740993n });
  expect(parse('{"id":1,"name":"\ufffd"}')).toEqual({ ...fern, name: "\ufffd" });
  expect(parse('{"tag":"","name":"","id":-0}')).toEqual({ id: 0n, name: "", tag: "" });
});

describe("a body is refused", () => {
  const refused: [string, PlantRefusalKind, string][] = [
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
    ['{"id":1,"name":"a', "not-json", "a closing quote but the body ends"],
    ['{"id":1,"name":"a"} x', "not-json", "nothing after the value but found x"],
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

  test("if it is not UTF-8 without a byte order mark, whichever bytes are not", () => {
    const strict = new TextDecoder("utf-8", { fatal: true });
    const common = [
      0x00, 0x41, 0x7f, 0x80, 0xa0, 0xaf, 0xbf, 0xc0, 0xc2, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf4, 0xff,
    ];
    const bytes = fc.array(fc.oneof(fc.constantFrom(...common), fc.nat(255)), { minLength: 1, maxLength: 4 });
    let refused = 0;
    fc.assert(
      fc.property(bytes, fc.boolean(), (some, isInName) => {
        fc.pre(attempt(() => strict.decode(Uint8Array.from(some))) instanceof Error);
        const plain = '{"id":1,"name":"';
        const parts = isInName ? [encode(plain), some, encode('"}')] : [encode(`${plain}"}`), some];
        const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
        expect(parseNewPlant(body)).toHaveProperty("kind", "not-text");
        refused++;
      }),
      { numRuns: 5000 },
    );
    expect(refused).toBeGreaterThan(1000);
    const marked = [0xef, 0xbb, 0xbf, ...encode('{"id":1,"name":"a"}')];
    expect(parseNewPlant(Buffer.from(marked))).toHaveProperty("kind", "not-text");
  });

  test("in a short message, however long its values and however many its names", () => {
    const names = Array.from({ length: 5000 }, (_, index) => `"n${index}":1`).join(",");
    expect(refusal(`{"id":"${"x".repeat(9000)}","name":"a"}`).message.length).toBeLessThan(150);
    expect(refusal(`{"id":${"9".repeat(9000)},"name":"a"}`).message.length).toBeLessThan(200);
    expect(refusal(`{${names},${names}}`).message.length).toBeLessThan(200);
  });

  test.each([
    ["arrays", "[".repeat(65_000)],
    ["objects", '{"a":'.repeat(13_000)],
    ["escapes", `"${"\\u0041".repeat(10_000)}"`],
    ["digits", `{"id":${"1".repeat(65_000)}}`],
  ])("as many %s as fit", (_, body) => expect(refusal(body)).toBeInstanceOf(PlantRefusal));
});

describe("for any input", () => {
  const special = fc.constantFrom(...' "\\/\b\f\n\r\t');
  const unit = fc.oneof(special, fc.string({ unit: "binary", minLength: 1, maxLength: 1 }));
  const name = fc.string({ unit }).filter((text) => !text.includes("\u0000"));
  const plant = fc.record(
    { id: fc.bigInt({ min: int64Min, max: int64Max }), name, tag: name },
    { requiredKeys: ["id", "name"] },
  );

  test("a valid plant is read exactly, whatever the order, escapes and white space of its members", () => {
    const member = fc.tuple(fc.string({ minLength: 5 }), fc.json({ maxDepth: 2 }));
    const written = fc.record({
      others: fc.uniqueArray(member, { selector: ([key]) => key, maxLength: 3 }),
      space: fc.string({ unit: fc.constantFrom(" ", "\t", "\r", "\n"), maxLength: 3 }),
      notations: fc.array(fc.nat(2), { minLength: 1, maxLength: 9 }),
      first: fc.nat(3),
    });
    fc.assert(
      fc.property(plant, written, ({ id, ...rest }, { others, space, notations, first }) => {
        let at = 0;
        const choose = () => {
          at++;
          return notations[at % notations.length] ?? 0;
        };
        const quoted = (text: string) => writeString(text, choose);
        const members = [
          [quoted("id"), [String(id), `${id}.0`, `${id}.0E+0`][choose()]],
          ...Object.entries(rest).map(([key, text]) => [quoted(key), quoted(text)]),
          ...others.map(([key, value]) => [quoted(key), value]),
        ].map((pair) => pair.join(`${space}:${space}`));
        const ordered = [...members.slice(first), ...members.slice(0, first)];
        const text = `${space}{${space}${ordered.join(`${space},${space}`)}${space}}${space}`;
        expect(parse(text)).toEqual({ id, tag: undefined, ...rest });
      }),
      { numRuns: 300 },
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
        expect(result instanceof PlantRefusal && result.kind === "not-json").toBe(!isJson);
      }),
      { numRuns: 2000 },
    );
  });
});

const shortEscapes = new Map(
  Array.from('"\\/\b\f\n\r\t', (plain, index) => [plain, `\\${'"\\/bfnrt'[index]}`]),
);

/** JSON of the text, each of whose characters is written as chosen, if it may be: plain, or as a short or long escape. */
function writeString(text: string, choose: () => number): string {
  const written = Array.from(text, (character) => {
    const short = shortEscapes.get(character);
    const units = character.split("").map((unit) => unit.charCodeAt(0).toString(16).padStart(4, "0"));
    const long = units.map((unit) => `\\u${unit}`).join("");
    const mayBePlain = character === "/" || (short === undefined && character >= " ");
    return [mayBePlain ? character : long, short ?? long, long][choose()];
  });
  return `"${written.join("")}"`;
}

function attempt(read: () => unknown): unknown {
  try {
    return read();
  } catch (thrown) {
    return thrown;
  }
}
