import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { openForWriting } from "../../src/storage/sqlite/opening/open-for-writing.ts";

/** Opens the data file as the next start would, after which no failure marker is left. Returns whether that rebuilt the file. */
export function openAsNextStart(file: string): { readonly rebuilt: boolean } {
  let rebuilt = false;
  using _opened = openForWriting(file, {
    rebuilding: () => {
      rebuilt = true;
    },
  });
  expect(existsSync(`${file}.failure.json`)).toBe(false);
  return { rebuilt };
}
