import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decodeBody } from "../../src/plants/json-body.ts";
import {
  parseNewPlant,
  plainNotation,
  readPlantFields,
  scanPlainPlant,
  validatePlant,
} from "../../src/plants/parse-new-plant.ts";
import type { NewPlant } from "../../src/plants/plant.ts";
import { Refusal } from "../../src/plants/refusals.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const parse = (text: string) => parseNewPlant(encode(text));

/** As `parseNewPlant`, without the scan. */
function parseCarefully(body: Uint8Array): NewPlant | Refusal {
  if (body.length === 0) return parseNewPlant(body);
  try {
    const { fields, notation } = readPlantFields(decodeBody(body));
    return validatePlant(fields, notation);
  } catch (thrown) {
    return thrown as Refusal;
  }
}

function scan(body: Uint8Array) {
  try {
    return scanPlainPlant(decodeBody(body));
  } catch {
    return undefined;
  }
}

describe("for any input", () => {
  const plant = fc.record(
    {
      id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      name: fc.string({ unit: "binary" }),
      tag: fc.string({ unit: "binary" }),
    },
    { requiredKeys: ["id", "name"] },
  );

  test("a valid plant is read exactly, whatever the order of its members", () => {
    fc.assert(
      fc.property(plant, fc.boolean(), fc.nat(3), ({ id, name, tag }, idLast, spaces) => {
        fc.pre(!`${name}${tag ?? ""}`.includes("\u0000"));
        const members = [
          `"name":${JSON.stringify(name)}`,
          ...(tag === undefined ? [] : [`"tag":${JSON.stringify(tag)}`]),
        ];
        const body = `{${(idLast ? [...members, `"id":${id}`] : [`"id":${id}`, ...members]).join(`,${" ".repeat(spaces)}`)}}`;
        expect(parse(body)).toEqual({ id, name, tag });
      }),
      { numRuns: 2000 },
    );
  });

  test("the plain scan reads the fields that the careful parser reads, and the result is the same", () => {
    const pieces = fc.array(
      fc.constantFrom(
        "{",
        "}",
        '"id"',
        '"name"',
        '"tag"',
        ":",
        ",",
        " ",
        '"a"',
        '"é"',
        "1",
        "0",
        "01",
        "-",
        "[",
        '"',
        "\\",
        "\n",
        '"id":1',
        '"name":"x"',
        ',"tag":"y"',
        "999999999999999",
        "9999999999999999",
      ),
      { maxLength: 14 },
    );
    const nearly = fc
      .tuple(
        fc.constantFrom('{"id":12,"name":"ab","tag":"c"}', '{"id": 5, "name": "x"}'),
        fc.nat(40),
        fc.string({ maxLength: 2 }),
      )
      .map(([text, at, change]) => text.slice(0, at) + change + text.slice(at + 1));
    const value = fc.constantFrom(
      "1",
      "0",
      "01",
      "-1",
      "999999999999999",
      "9999999999999999",
      '"a"',
      '"é"',
      '""',
    );
    const member = fc
      .tuple(fc.constantFrom("id", "name", "tag", "other"), fc.constantFrom(":", ": ", " :"), value)
      .map(([name, colon, text]) => `"${name}"${colon}${text}`);
    const members = fc
      .tuple(fc.array(member, { maxLength: 4 }), fc.constantFrom(",", ", ", " ,", ",  "))
      .map(([list, comma]) => `{${list.join(comma)}}`);
    const texts = fc.oneof(
      members,
      pieces.map((list) => list.join("")),
      pieces.map((list) => `{${list.join("")}}`),
      nearly,
    );
    let scans = 0;
    fc.assert(
      fc.property(fc.oneof(texts.map(encode), fc.uint8Array({ maxLength: 100 })), (bytes) => {
        expect(parseNewPlant(bytes)).toEqual(parseCarefully(bytes));
        const scanned = scan(bytes);
        if (scanned === undefined) return;
        scans++;
        expect(readPlantFields(decodeBody(bytes))).toEqual({ fields: scanned, notation: plainNotation });
      }),
      { numRuns: 20_000 },
    );
    expect(scans).toBeGreaterThan(50);
  });

  test("a body is accepted as JSON exactly if JSON.parse accepts it", () => {
    const mutated = fc
      .tuple(
        fc.json(),
        fc.nat(60),
        fc.constantFrom("", "{", "}", "[", "]", ",", ":", '"', "\\", "0", "-", ".", "e", " ", "\u0001"),
      )
      .map(([text, at, change]) => text.slice(0, at) + change + text.slice(at + 1));
    fc.assert(
      fc.property(fc.oneof(fc.json(), mutated), (text) => {
        fc.pre(text !== "" && text.isWellFormed() && !text.startsWith("\ufeff"));
        let json = true;
        try {
          JSON.parse(text);
        } catch {
          json = false;
        }
        const result = parse(text);
        const ours =
          !(result instanceof Refusal) || (result.kind !== "not-json" && result.kind !== "not-text");
        if (result instanceof Refusal && result.kind === "not-text") expect(json).toBe(true);
        else expect(ours).toBe(json);
      }),
      { numRuns: 5000 },
    );
  });

  test("any bytes get a result", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void parseNewPlant(bytes)),
      { numRuns: 3000 },
    );
  });
});
