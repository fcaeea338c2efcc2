import { expect, test } from "bun:test";
import { escapeFormulas, exportFormats, unescapeFormulas } from "./export-formats.ts";
import { rowReaderFor } from "./read-rows.ts";

const cases: [plain: string, escaped: string][] = [
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

test.each(cases)("%j is escaped as %j, which can be reversed", (plain, escaped) => {
  expect(escapeFormulas(plain)).toBe(escaped);
  expect(unescapeFormulas(escaped)).toBe(plain);
});

test("import reads an export for spreadsheets back exactly", () => {
  const { header, row } = exportFormats["csv-safe"];
  const plants = cases.map(([name], index) => ({ id: index, name, tag: index % 2 === 0 ? name : undefined }));
  const created = { createdAtMs: 0, createdBy: "=cmd|' /C calc'!A0" };
  const rows = plants.map((plant) => row({ ...plant, id: BigInt(plant.id), ...created }));
  expect(rows[0]).toBe('0,"\'=1+1","\'=1+1",1970-01-01T00:00:00.000Z,"\'=cmd|\' /C calc\'!A0"\r\n');
  const read = rowReaderFor("csv", 10_000).push(new TextEncoder().encode(header + rows.join("")));
  expect(read.map(({ json }) => JSON.parse(new TextDecoder().decode(json)))).toEqual(
    plants.map(({ tag, ...plant }) => (tag === undefined ? plant : { ...plant, tag })),
  );
});
