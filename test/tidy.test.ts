import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { withDiagrams } from "../scripts/architecture.js";
import table from "../scripts/modules.json" with { type: "json" };
import { threadEntries } from "../src/storage/sqlite/thread.ts";

// The rules of the codebase, as ordinary tests. Which module may import which is in scripts/modules.json.
const modules: Record<string, { readonly imports: readonly string[] }> = table.modules;
const root = join(import.meta.dir, "..");
const source = join(root, "src");

interface File {
  readonly path: string;
  readonly module: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const files: File[] = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".d.ts"))
  .map((name) => {
    const text = readFileSync(join(source, name), "utf8");
    const imports = [...text.matchAll(/^(?:(?:import|export) .*?from |} from |import )"(\.[^"]+)"/gm)].map(
      ([, path = ""]) => relative(source, join(source, dirname(name), path)),
    );
    return { path: name, module: moduleOf(name), text, imports };
  });
const code = files.filter(({ path }) => !path.endsWith(".test.ts"));

function moduleOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : path;
}

function offenders(among: readonly File[], pattern: RegExp, except: (file: File) => boolean): string[] {
  return among.filter((file) => !except(file) && pattern.test(file.text)).map(({ path }) => path);
}

describe("the codebase", () => {
  test("every module imports only what the table allows, and the table allows nothing else", () => {
    const imported = Object.fromEntries(Object.keys(modules).map((name) => [name, new Set<string>()]));
    for (const { path, module, imports } of files) {
      const targets = imports.filter((target) => !target.startsWith("..")).map(moduleOf);
      for (const target of targets.filter((name) => name !== module)) {
        imported[module]?.add(target);
        if (!modules[module]?.imports.includes(target)) throw new Error(`${path} may not import ${target}`);
      }
    }
    for (const [name, { imports }] of Object.entries(modules))
      expect([name, [...(imported[name] ?? [])].sort()]).toEqual([name, [...imports].sort()]);
    expect([...new Set(files.map(({ module }) => module))].sort()).toEqual(Object.keys(modules).sort());
  });

  test("ARCHITECTURE.md has the diagrams that the table makes; npm run architecture rewrites them", () => {
    const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
    expect(page).toBe(withDiagrams(page, table));
    const steps = table.requestPath.flatMap(({ from, to }) => [from, to]).filter((name) => name !== "client");
    expect(steps.filter((path) => !files.some((file) => file.path === path))).toEqual([]);
  });

  test("no files import each other in a cycle", () => {
    const imports = new Map(code.map((file) => [file.path, file.imports]));
    const visit = (path: string, trail: readonly string[]): string[] => {
      if (trail.includes(path)) return [[...trail, path].join(" → ")];
      return (imports.get(path) ?? []).flatMap((next) => visit(next, [...trail, path]));
    };
    expect(code.flatMap(({ path }) => visit(path, []))).toEqual([]);
  });

  test("only storage/ contains SQL", () => {
    const sql = /\b(?:SELECT .* FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE|PRAGMA)\b/;
    expect(offenders(code, sql, ({ module }) => module === "storage")).toEqual([]);
  });

  test("only the HTTP modules and their clients contain HTTP statuses", () => {
    expect(
      offenders(code, /\bstatus\w*\b.*\b[2-5]\d\d\b|\b[45]\d\d(?:0[1-9]|[1-3]\d)\b/, ({ module }) =>
        ["http", "public", "operator", "console", "cli", "client"].includes(module),
      ),
    ).toEqual([]);
  });

  test("only main.ts uses process", () => {
    // A browser has no process; the bundler replaces it. The metrics only read what the process uses.
    const allowed = ["main.ts", "operator/console-bundle.ts", "operator/metrics.ts"];
    expect(offenders(code, /\bprocess\.\w/, ({ path }) => allowed.includes(path))).toEqual([]);
  });

  test("only http/wire/, storage/sqlite/, the console's bundler and one system call use Bun's own API", () => {
    const allowed = /^(?:main\.ts|http\/wire|operator\/console-bundle\.ts|storage\/sqlite)/;
    // Node has no public function for the width of text on a terminal, and tables of Unicode are not ours to keep.
    const textWidth = /\bBun\.(?:stringWidth|sliceAnsi)\b/g;
    const others = code.map((file) =>
      file.path === "cli/terminal.ts" ? { ...file, text: file.text.replaceAll(textWidth, "") } : file,
    );
    expect(offenders(others, /\bBun\.|from "bun/, ({ path }) => allowed.test(path))).toEqual([]);
  });

  test("only storage/postgres/ imports PostgreSQL's driver", () => {
    expect(offenders(code, /from "pg"/, ({ path }) => path.startsWith("storage/postgres/"))).toEqual([]);
  });

  test("no module has mutable state at its top level", () => {
    expect(offenders(code, /^(?:export )?let /m, () => false)).toEqual([]);
  });

  test("every file is used", () => {
    // Started as threads, bundled for the browser, or imported by other packages.
    const entries = [
      "main.ts",
      ...threadEntries.map((entry) => `${entry}.ts`),
      "console/main.tsx",
      "client/plant-store-client.ts",
    ];
    const imported = new Set(files.flatMap(({ imports }) => imports));
    expect(
      code.map(({ path }) => path).filter((path) => !entries.includes(path) && !imported.has(path)),
    ).toEqual([]);
  });

  test("no test is skipped, and no work is left for later", () => {
    const tests = readdirSync(import.meta.dir, { encoding: "utf8" })
      .filter((name) => name !== "tidy.test.ts" && name.endsWith(".ts"))
      .map((name) => ({
        path: `test/${name}`,
        module: "test",
        text: readFileSync(join(import.meta.dir, name), "utf8"),
        imports: [],
      }));
    expect(offenders([...files, ...tests], /\b(?:test|describe)\.(?:only|skip|todo)\(/, () => false)).toEqual(
      [],
    );
    expect(offenders([...files, ...tests], /\b(?:TODO|FIXME|XXX|HACK)\b/, () => false)).toEqual([]);
  });

  test("src/ without the console stays small enough to read in a day", () => {
    const linesMax = 18_705; // A commit that raises this says why here.
    const counted = readdirSync(source, { recursive: true, encoding: "utf8" }).filter(
      (name) => /\.(?:tsx?|js)$/.test(name) && !/^console\/|\.test\.ts$|\.d\.ts$/.test(name),
    );
    const lines = counted.map((name) => readFileSync(join(source, name), "utf8").split("\n").length - 1);
    expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(linesMax);
  });

  test("the lock file names no registry", () => {
    const lock = readFileSync(join(root, "package-lock.json"), "utf8");
    expect(lock).not.toMatch(
      /"resolved"|https?:\/\/(?!opencollective|github|feross|paypal|www\.patreon|ko-fi)[^"]*\.tgz/,
    );
  });
});
