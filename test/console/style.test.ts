// The design scale of the console and the docs page, as an ordinary test: what is not named in tokens.css is not used.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const tokens = read("src/style/tokens.css");
const sheets = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".css") && name !== "style/tokens.css")
  .map((name) => read(`src/${name}`));
// Except inside a mask, whose colour does not show.
const lines = sheets.flatMap((sheet) => sheet.split("\n").filter((line) => !line.includes("mask:")));

test("every size of a text, a border or a space is a variable, or a hairline", () => {
  const sized = lines.filter((line) =>
    /^\s*(?:font|border|gap|row-gap|column-gap|padding|margin)[\w-]*:/.test(line),
  );
  // The bar at the bottom of a phone, of one row or two, covers the last of these.
  const raw = /(?<![\d.])(?![012]px|50%)\d*\.?\d+(?:px|r?em|%)(?<!var\(--s4\) [57]rem)/;
  expect(sized.length).toBeGreaterThan(100);
  expect(sized.filter((line) => raw.test(line))).toEqual([]);
});

test("every colour has a name, and every variable that is used exists", () => {
  const raw = /#[\da-f]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(/i;
  expect(lines.filter((line) => raw.test(line))).toEqual([]);
  const known = new Set([tokens, ...sheets].flatMap(definedIn));
  const used = sheets.flatMap((sheet) => [...sheet.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name));
  expect(used.filter((name) => !known.has(name ?? ""))).toEqual([]);
  expect(definedIn(read("src/public/docs/page.css"))).toEqual([]);
});

function definedIn(text: string): string[] {
  return [...text.matchAll(/^\s*(?:@property )?(--[\w-]+)(?::| \{)/gm)].map(([, name]) => name ?? "");
}
