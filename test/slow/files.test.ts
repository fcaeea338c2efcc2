import { expect, test } from "bun:test";
import fc from "fast-check";
import { escapeFormulas, exportFormats, unescapeFormulas } from "../../src/files/export-formats.ts";
import { type FileFormat, rowReaderFor } from "../../src/files/read-rows.ts";

const pieces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });

/** What is sent for each row, or why it is refused, and why the file is broken. */
function read(format: FileFormat, text: string, lengths: readonly number[]): unknown[] {
  const reader = rowReaderFor(format, 10_000);
  const bytes = new TextEncoder().encode(text);
  const rows = [];
  for (let at = 0, turn = 0; at < bytes.length && reader.broken === undefined; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    rows.push(...reader.push(bytes.slice(at, at + length)));
    at += length;
  }
  if (reader.broken === undefined) rows.push(...reader.end());
  const { broken } = reader;
  return [
    ...rows.map(({ error, json }) => error ?? new TextDecoder().decode(json)),
    ...(broken === undefined ? [] : [broken]),
  ];
}

test.each(["ndjson", "json", "csv"] as const)("%s has the same rows in any split of its bytes", (format) => {
  const parts = ['{"id":1}', ',\n{"id":2,', '"a""b"', "\r\n1,x\r\n"];
  const alphabet = fc.constantFrom(...'[]{},"\\\r\n \taé1-:', ...parts);
  const text = fc.array(alphabet, { maxLength: 300 }).map((all) => all.join(""));
  const start = { ndjson: "", json: "[", csv: "id,name\n" }[format];
  fc.assert(
    fc.property(text, pieces, (body, lengths) =>
      expect(read(format, start + body, lengths)).toEqual(read(format, start + body, [1_000_000])),
    ),
    { numRuns: 3000 },
  );
});

// Texts made of what matters to the escape, so that few runs find a gap.
const hostile = fc
  .array(fc.constantFrom(..."=+-@'\";|,\t\r\n \uff1d\u00a0ab1"), { maxLength: 8 })
  .map((parts) => parts.join(""));
const anyText = fc.oneof(hostile, fc.string({ unit: "binary", maxLength: 20 }));

test.each(["csv", "csv-safe"] as const)("every plant exported as %s is read back exactly", (name) => {
  const { header, row } = exportFormats[name];
  const plant = fc.record({
    id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    name: anyText,
    tag: fc.option(anyText, { nil: undefined }),
    createdAtMs: fc.constant(0),
    createdBy: fc.constant("=cmd|' /C calc'!A0"),
  });
  fc.assert(
    fc.property(fc.array(plant), pieces, (plants, lengths) => {
      const sent = plants.map(({ id, name, tag }) => `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`);
      expect(read("csv", header + plants.map(row).join(""), lengths)).toEqual(sent);
    }),
    { numRuns: 1000 },
  );
});

test("no cell begins like a formula, whatever character a spreadsheet separates cells by", () => {
  fc.assert(
    fc.property(anyText, (name) => {
      const row = exportFormats["csv-safe"].row({ id: 5n, name, tag: name, createdAtMs: 0, createdBy: name });
      for (const separator of [";", "|", "\t", /[\r\n]/, /[;|\t\r\n]/])
        for (const cell of row.split(separator)) expect(cell).not.toMatch(/^["\s]*[=+\-@\uff1d]/);
      expect(unescapeFormulas(escapeFormulas(name))).toBe(name);
    }),
    { numRuns: 20_000 },
  );
});
