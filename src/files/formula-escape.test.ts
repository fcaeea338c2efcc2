import { expect, test } from "bun:test";
import fc from "fast-check";
import type { StoredPlant } from "../plants/plant-archive.ts";
import { escapeFormulas, exportFormats, unescapeFormulas } from "./export-formats.ts";
import { readRows, rowReaderFor } from "./read-rows.ts";

// Texts made of what matters to the escape, so that few runs find a gap.
const hostile = fc
  .array(fc.constantFrom(..."=+-@'\";|,\t\r\n \uff1d\u00a0ab1"), { maxLength: 8 })
  .map((parts) => parts.join(""));
const text = fc.oneof(hostile, fc.string({ unit: "binary" }));
const plantFor = (name: string, tag: string | undefined): StoredPlant => ({
  id: -5n,
  name,
  tag,
  createdAtMs: 0,
  createdBy: "=cmd|' /C calc'!A0",
});

test("a text that begins like a formula gets an apostrophe, and any other is unchanged", () => {
  const cases: [string, string][] = [
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@SUM(1)", "'@SUM(1)"],
    ["\t=1", "'\t'=1"],
    ["\rx", "'\rx"],
    [' "=1', "' \"=1"],
    ["'=1", "''=1"],
    ["\uff1d1", "'\uff1d1"],
    ["Fern;=1+1", "Fern;'=1+1"],
    ["Fern\n=1+1", "Fern\n'=1+1"],
    ["Fern", "Fern"],
    ["'Fern'", "'Fern'"],
    ["Rosa × alba, -5 °C = hardy", "Rosa × alba, -5 °C = hardy"],
    ["", ""],
  ];
  for (const [plain, escaped] of cases) expect([plain, escapeFormulas(plain)]).toEqual([plain, escaped]);
});

test("no cell begins like a formula, whatever character a spreadsheet separates cells by", () => {
  const row = (name: string) => exportFormats["csv-safe"].row(plantFor(name, name)).slice("-5,".length);
  fc.assert(
    fc.property(text, (name) => {
      for (const separator of [";", "|", "\t", /[\r\n]/, /[;|\t\r\n]/])
        for (const cell of row(name).split(separator)) expect(cell).not.toMatch(/^["\s]*[=+\-@\uff1d]/);
    }),
    { numRuns: 2000 },
  );
});

test("the escape can be reversed", () => {
  fc.assert(
    fc.property(text, (plain) => expect(unescapeFormulas(escapeFormulas(plain))).toBe(plain)),
    { numRuns: 5000 },
  );
});

test("import reads an export for spreadsheets back exactly", async () => {
  const { header, row } = exportFormats["csv-safe"];
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ name: hostile, tag: fc.option(hostile, { nil: undefined }) }), { maxLength: 5 }),
      async (plants) => {
        const csv = header + plants.map(({ name, tag }) => row(plantFor(name, tag))).join("");
        const read: unknown[] = [];
        for await (const { json } of readRows(inOnePiece(csv), rowReaderFor("csv", 10_000)))
          read.push(JSON.parse(new TextDecoder().decode(json)));
        expect(read).toEqual(
          plants.map(({ name, tag }) => ({ id: -5, name, ...(tag !== undefined && { tag }) })),
        );
      },
    ),
    { numRuns: 200 },
  );
});

async function* inOnePiece(csv: string) {
  yield new TextEncoder().encode(csv);
}
