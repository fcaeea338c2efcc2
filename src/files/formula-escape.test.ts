import { expect, test } from "bun:test";
import fc from "fast-check";
import { exportFormats } from "./export-formats.ts";
import { escapeFormulas, unescapeFormulas } from "./formula-escape.ts";
import { rowReaderFor } from "./read-rows.ts";

const cases: [plain: string, escaped: string][] = [
  ["=1+1", "'=1+1"],
  ["\t=1", "'\t'=1"],
  ["\rx", "'\rx"],
  [' "=1', "' \"=1"],
  ["'=1", "''=1"],
  ["\uff1d1", "'\uff1d1"],
  ["Fern;=1+1", "Fern;'=1+1"],
  ["'Fern'", "'Fern'"],
  ["Rosa × alba, -5 °C = hardy", "Rosa × alba, -5 °C = hardy"],
];

test.each(cases)("%j is escaped as %j, which can be reversed", (plain, escaped) => {
  expect(escapeFormulas(plain)).toBe(escaped);
  expect(unescapeFormulas(escaped)).toBe(plain);
});

// Texts made of what matters to the escape, so that few runs find a gap.
const hostile = fc
  .array(fc.constantFrom(..."=+-@'\";|,\t\r\n \uff1d\u00a0ab1"), { maxLength: 8 })
  .map((parts) => parts.join(""));
const anyText = fc.oneof(hostile, fc.string({ unit: "binary", maxLength: 20 }));

test.each(["csv", "csv-safe"] as const)("every plant exported as %s is read back exactly", (format) => {
  const { header, row } = exportFormats[format];
  const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  fc.assert(
    fc.property(id, anyText, fc.option(anyText, { nil: undefined }), (id, name, tag) => {
      const text = header + row({ id, name, tag, createdAtMs: 0, createdBy: name });
      const [read] = rowReaderFor("csv", 10_000).push(new TextEncoder().encode(text));
      const sent = `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`;
      expect(new TextDecoder().decode(read?.json)).toBe(sent);
    }),
    { numRuns: 2000 },
  );
});

test("no cell begins like a formula, whatever character a spreadsheet separates cells by", () => {
  fc.assert(
    fc.property(anyText, (name) => {
      const row = exportFormats["csv-safe"].row({ id: 5n, name, tag: name, createdAtMs: 0, createdBy: name });
      for (const separator of [";", "|", "\t", /[\r\n]/, /[;|\t\r\n]/])
        for (const cell of row.split(separator)) expect(cell).not.toMatch(/^["\s]*[=+\-@\uff1d]/);
    }),
    { numRuns: 2000 },
  );
});
