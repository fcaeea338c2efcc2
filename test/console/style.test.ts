// The design scale of the console and the docs page, as an ordinary test: what is not named in tokens.css is not used.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const tokens = read("src/style/tokens.css");
const sheets = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".css") && name !== "style/tokens.css")
  .map((name) => ({ name, text: read(`src/${name}`) }));

/** The declarations of a property whose value does not match, as "file: value". */
function others(property: RegExp, allowed: RegExp): string[] {
  const declaration = new RegExp(`^\\s*(?:${property.source}): ([^;]+);`, "gm");
  return sheets.flatMap(({ name, text }) =>
    [...text.matchAll(declaration)].flatMap(([, value = ""]) =>
      allowed.test(value) ? [] : [`${name}: ${value}`],
    ),
  );
}

const step = String.raw`(-?[012]px|0|auto|var\(--s\d\)|calc\((-1 \*|var\(--s1\) \+) (var\(--s\d\)|env\(safe-area-inset-bottom\))\))`;
test.each([
  ["font-size", /font-size/, /^var\(--t-\w+\)$/],
  ["font", /font/, /^(inherit|var\(--t-\w+\) .*var\(--(mono|sans)\))$/],
  ["radius", /border-radius/, /^(var\(--r(-s)?\)|50%|2px)$/],
  [
    "border",
    /border|border-(?:top|right|bottom|left)/,
    /^(0|[12]px (solid|dashed) (var\(--(line|field-line)\)|transparent))$/,
  ],
  [
    "space",
    /gap|row-gap|column-gap|padding|padding-\w+|margin|margin-\w+/,
    // The bar at the bottom of a phone, of one row or two, covers the last of these.
    new RegExp(`^(${step}( ${step}){0,3}|var\\(--s4\\) var\\(--s4\\) [57]rem)$`),
  ],
])("every %s is one of the design scale", (_, property, allowed) => {
  expect(others(property, allowed)).toEqual([]);
});

test("every colour has a name", () => {
  const raw = /#[\da-f]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(/i;
  // Except inside a mask, whose colour does not show.
  const lines = sheets.flatMap(({ text }) => text.split("\n").filter((line) => !line.includes("mask:")));
  expect(lines.filter((line) => raw.test(line))).toEqual([]);
});

test("every variable that is used exists", () => {
  const known = new Set([tokens, ...sheets.map(({ text }) => text)].flatMap(definedIn));
  const used = sheets.flatMap(({ text }) => [...text.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name));
  expect(used.filter((name) => !known.has(name ?? ""))).toEqual([]);
});

test("the docs page has no colours and sizes of its own", () => {
  expect(definedIn(read("src/public/docs/page.css"))).toEqual([]);
});

function definedIn(text: string): string[] {
  return [...text.matchAll(/^\s*(?:@property )?(--[\w-]+)(?::| \{)/gm)].map(([, name]) => name ?? "");
}
