// The rules of the codebase, as ordinary tests. Which module may import which is in scripts/modules.json.
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { withDiagrams } from "../scripts/architecture.js";
import table from "../scripts/modules.json" with { type: "json" };
import { threadEntries } from "../src/storage/sqlite/threads/thread.ts";
import compilerProject from "../tsconfig.json" with { type: "json" };

interface Module {
  readonly imports: readonly string[];
  /** The modules of which it may import types, and nothing else. */
  readonly typesOf?: readonly string[];
  readonly leaf?: boolean;
}
const modules: Record<string, Module> = table.modules;
// Published by itself, and the domain: they import no other module, not even a leaf.
const standAlone = ["client", "plants"];
const root = join(import.meta.dir, "..");

function filesIn(folder: string) {
  const source = join(root, folder);
  return (
    readdirSync(source, { recursive: true, encoding: "utf8" })
      // bench/ may have installed what it compares with.
      .filter((name) => !name.includes("node_modules/"))
      .filter((name) => /\.(?:tsx?|js)$/.test(name) && !name.endsWith(".d.ts"))
      .map((path) => {
        const text = readFileSync(join(source, path), "utf8");
        const imported = text.matchAll(/^(?:import|export)( type)?\b(?:[^;"]* from)? "(\.[^"]+)"/gm);
        const found = Array.from(imported, ([, type, to = ""]) => ({
          isType: type !== undefined,
          target: relative(source, join(source, dirname(path), to)),
        }));
        const values = found.filter(({ isType }) => !isType).map(({ target }) => target);
        const later = Array.from(text.matchAll(/\bimport\("(\.[^"]+)"\)/g), ([, to = ""]) =>
          relative(source, join(source, dirname(path), to)),
        );
        const imports = [...found.map(({ target }) => target), ...later];
        return { path, module: moduleOf(path), text, imports, values };
      })
  );
}

function moduleOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : path;
}

function mayImportLeaf(module: string, target: string): boolean {
  return modules[target]?.leaf === true && !modules[module]?.leaf && !standAlone.includes(module);
}

const files = filesIn("src");
const code = files.filter(({ path }) => !path.endsWith(".test.ts"));

test("the modules import exactly what the table allows", () => {
  const used = new Set<string>();
  for (const { module, imports } of files)
    for (const target of imports.filter((path) => !path.startsWith("..")).map(moduleOf))
      if (target !== module && !mayImportLeaf(module, target)) used.add(`${module} → ${target}`);
  const allowed = Object.entries(modules).flatMap(([name, { imports, typesOf = [] }]) =>
    [...imports, ...typesOf].map((target) => `${name} → ${target}`),
  );
  expect([...used].sort()).toEqual(allowed.sort());
  const inSource = readdirSync(join(root, "src")).filter((name) => !name.endsWith(".d.ts"));
  expect(inSource.sort()).toEqual(Object.keys(modules).sort());
});

test("a module imports nothing but types where the table allows only types", () => {
  const offenders = files.filter(({ module, values }) =>
    values.some((target) => modules[module]?.typesOf?.includes(moduleOf(target))),
  );
  expect(offenders.map(({ path }) => path)).toEqual([]);
});

// The console has a type check of its own, with the types of a browser. Its unit tests run in Bun.
test("the type check includes every module, and the console's tests", () => {
  const folders = Object.keys(modules).filter((name) => !name.endsWith(".ts") && name !== "console");
  const inSource = folders.sort().map((name) => `src/${name}`);
  const { include } = compilerProject;
  expect(include).toEqual(["src/*.ts", ...inSource, "src/console/**/*.test.ts", "test", "bench", "scripts"]);
});

test("ARCHITECTURE.md has the diagram and the table that modules.json makes; npm run architecture rewrites them", () => {
  const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  expect(page).toBe(withDiagrams(page, table));
});

test("a start loads neither PostgreSQL's driver nor jose, which cost time and memory, until it needs them", () => {
  const loaded = new Set(["main.ts"]);
  for (const path of loaded)
    for (const next of code.find((file) => file.path === path)?.values ?? []) loaded.add(next);
  const offenders = code.filter(
    ({ path, text }) => loaded.has(path) && /^import (?!type).* from "(?:pg|jose)"/m.test(text),
  );
  expect(loaded.size).toBeGreaterThan(100);
  expect(offenders.map(({ path }) => path)).toEqual([]);
});

test.each(["src", "bench", "scripts", "test"])("no files of %s/ import each other in a cycle", (folder) => {
  const importsOf = new Map(filesIn(folder).map(({ path, imports }) => [path, imports]));
  const cycles: string[] = [];
  const visited = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    if (visited.has(path)) return;
    if (trail.includes(path)) {
      cycles.push([...trail.slice(trail.indexOf(path)), path].join(" → "));
      return;
    }
    for (const next of importsOf.get(path) ?? []) visit(next, [...trail, path]);
    visited.add(path);
  };
  for (const path of importsOf.keys()) visit(path, []);
  expect(cycles).toEqual([]);
});

describe("the layers of storage/sqlite/", () => {
  // As ARCHITECTURE.md has them. Each file imports from its own layer and from those below.
  const layers = [
    ["sqlite-store.ts", "sqlite-tokens.ts", "sqlite-audit.ts"],
    ["copying/"],
    ["writing/"],
    ["reading/"],
    ["opening/"],
    ["migrations/", "threads/"],
    ["blocks/"],
    ["data-file/"],
  ];
  const layerOf = (path: string) => {
    const name = /^storage\/sqlite\/([\w-]+(?:\/|\.ts$))/.exec(path)?.[1] ?? "";
    return layers.findIndex((names) => names.includes(name));
  };
  const inSqlite = code.filter(({ path }) => path.startsWith("storage/sqlite/"));

  test("include every file", () => {
    expect(inSqlite.map(({ path }) => path).filter((path) => layerOf(path) < 0)).toEqual([]);
  });

  test("import in one direction", () => {
    const backwards = inSqlite.flatMap(({ path, imports }) =>
      imports
        .filter((target) => layerOf(target) >= 0 && layerOf(target) < layerOf(path))
        .map((target) => `${path} imports ${target}`),
    );
    expect(backwards).toEqual([]);
  });
});

test.each(["sqlite", "postgres"])(
  "storage/%s/ imports of storage/ only what is for both engines",
  (engine) => {
    const forBoth = ["store", "token-rows", "audit-rows", "page-room"].map((name) => `storage/${name}.ts`);
    const own = `storage/${engine}/`;
    const others = code
      .filter(({ path }) => path.startsWith(own))
      .flatMap(({ imports }) => imports)
      .filter(
        (target) => target.startsWith("storage/") && !target.startsWith(own) && !forBoth.includes(target),
      );
    expect(others).toEqual([]);
  },
);

test.each([
  [
    "only storage/ contains SQL",
    /\b(?:SELECT .* FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE|PRAGMA)\b/,
    /^storage\//,
  ],
  [
    "only the HTTP modules and their clients contain HTTP statuses",
    /\bstatus\w*\b.*\b[2-5]\d\d\b|\b[45]\d\d(?:0[1-9]|[1-3]\d)\b/,
    // PostgreSQL's SQLSTATEs have five digits too.
    /^(?:http|public|operator|console|cli|client)\/|^storage\/postgres\/(?:faults|migrations\/migrate)\.ts$/,
  ],
  // A browser has no process; the bundler replaces it. The metrics only read what the process uses.
  ["only main.ts uses process", /\bprocess\.\w/, /^(?:main|operator\/console-bundle|operator\/metrics)\.ts$/],
  // Node has no public function for the width of text on a terminal, and tables of Unicode are not ours to keep.
  [
    "only http/wire/, storage/sqlite/, the console's bundler and one system call use Bun's own API",
    /\bBun\.(?!stringWidth|sliceAnsi)|from "bun/,
    /^(?:main\.ts|http\/wire|operator\/console-bundle\.ts|storage\/sqlite)/,
  ],
  ["only the terminal measures text with Bun", /\bBun\.(?:stringWidth|sliceAnsi)/, /^cli\/terminal\.ts$/],
  ["only storage/postgres/ imports PostgreSQL's driver", /from "pg"/, /^storage\/postgres\//],
  [
    "only plants/ and handlers throw a Refusal",
    /\bthrow\b.*\b(?:Plant)?Refusal\b/,
    /^(?:plants|http|public|operator)\//,
  ],
])("%s", (_, pattern, allowed) => {
  const offenders = code.filter(({ path, text }) => !allowed.test(path) && pattern.test(text));
  expect(offenders.map(({ path }) => path)).toEqual([]);
});

test.each(["src", "scripts"])("no file of %s/ has mutable state at its top level", (folder) => {
  const offenders = filesIn(folder)
    .filter(({ path }) => !path.endsWith(".test.ts"))
    .filter(({ text }) => /^(?:export )?let /m.test(text));
  expect(offenders.map(({ path }) => path)).toEqual([]);
});

test("every file is used", () => {
  // Started as threads, bundled for the browser, or imported by other packages.
  const threads = threadEntries.map((entry) => `${entry}.ts`);
  const used = new Set([
    "main.ts",
    ...threads,
    "console/main.tsx",
    "style/theme.browser.js",
    "client/plant-store-client.ts",
    ...files.flatMap(({ imports }) => imports),
  ]);
  expect(code.map(({ path }) => path).filter((path) => !used.has(path))).toEqual([]);
});

test("no test is skipped", () => {
  const skipping = /\b(?:test|describe)\.(?:only|skip|todo)\(/;
  const skipped = [...files, ...filesIn("test")].filter(({ text }) => skipping.test(text));
  expect(skipped.map(({ path }) => path)).toEqual([]);
});
