import { expect, test } from "bun:test";
import { readPlant } from "../plants/read-plant.ts";
import { exportFormats, exportText } from "./export-formats.ts";
import { rowReaderFor } from "./read-rows.ts";

const plants = [
  { id: 1n, name: "Fern", tag: "indoor", createdAtMs: 0, createdBy: "greenhouse" },
  { id: -9223372036854775808n, name: "=Oak", tag: "", createdAtMs: 1, createdBy: "greenhouse" },
  { id: 9007199254740993n, name: "", tag: undefined, createdAtMs: 2, createdBy: "greenhouse" },
];

async function* pagesOf(...sizes: readonly number[]) {
  let from = 0;
  for (const size of sizes) {
    yield { plants: plants.slice(from, from + size) };
    from += size;
  }
}

test.each([
  ["ndjson", "ndjson"],
  ["json", "json"],
  ["csv", "csv"],
  ["csv-safe", "csv"],
] as const)("an export of several pages as %s is read back exactly", async (name, format) => {
  // A page may be empty and still not be the last.
  const pieces = await Array.fromAsync(exportText(pagesOf(0, 2, 0, 1), exportFormats[name]));
  const reader = rowReaderFor(format, 1024);
  const rows = [...reader.push(new TextEncoder().encode(pieces.join(""))), ...reader.end()];
  expect(reader.broken).toBeUndefined();
  expect(rows.map(({ json }) => readPlant(json))).toEqual(
    plants.map(({ id, name, tag }) => ({ id, name, tag })),
  );
});

test("an export of no plants as JSON is an empty array", async () => {
  const pieces = await Array.fromAsync(exportText(pagesOf(), exportFormats.json));
  expect(JSON.parse(pieces.join(""))).toEqual([]);
});
