import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { threadEntries } from "../src/threads/thread.ts";

// The rules of the house, as ordinary tests.
const root = join(import.meta.dir, "..");
const source = join(root, "src");

interface File {
  readonly path: string;
  readonly room: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const files: File[] = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".d.ts"))
  .map((name) => {
    const text = readFileSync(join(source, name), "utf8");
    const imports = [...text.matchAll(/^(?:import|export) .*?from "(\.[^"]+)"|^} from "(\.[^"]+)"/gm)].map(
      (match) => relative(source, join(source, dirname(name), match[1] ?? match[2] ?? "")),
    );
    return { path: name, room: roomOf(name), text, imports };
  });
const code = files.filter(({ path }) => !path.endsWith(".test.ts"));

function roomOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : path;
}

/** Which rooms each room may import, besides itself. */
const arrows: Record<string, readonly string[]> = {
  "main.ts": ["cli", "storage"],
  cli: [
    "service.ts",
    "workers",
    "public",
    "http",
    "storage",
    "telemetry",
    "config",
    "access",
    "plants",
    "files",
    "client",
  ],
  "service.ts": [
    "workers",
    "public",
    "operator",
    "http",
    "storage",
    "telemetry",
    "config",
    "access",
    "plants",
  ],
  workers: ["public", "telemetry", "access", "plants", "threads"],
  public: ["http", "telemetry", "access", "plants"],
  // The catalogue of errors stands in http/ for both.
  operator: ["http", "telemetry", "access", "plants", "files", "console"],
  // A program of its own in the browser: it speaks to operator/ over HTTP alone.
  console: ["files", "client"],
  http: ["telemetry", "access", "plants"],
  storage: ["access", "plants", "threads"],
  threads: [],
  telemetry: [],
  config: ["access"],
  access: [],
  plants: [],
  files: ["plants"],
  client: [],
};

function offenders(among: readonly File[], pattern: RegExp, except: (file: File) => boolean): string[] {
  return among.filter((file) => !except(file) && pattern.test(file.text)).map(({ path }) => path);
}

describe("the house", () => {
  test("every room imports only what it may", () => {
    const forbidden = files.flatMap(({ path, room, imports }) =>
      imports
        .map((imported) => (imported.startsWith("..") ? undefined : roomOf(imported)))
        .filter((target) => target !== undefined && target !== room && !arrows[room]?.includes(target))
        .map((target) => `${path} → ${target}`),
    );
    expect(forbidden).toEqual([]);
    expect([...new Set(files.map(({ room }) => room))].sort()).toEqual(Object.keys(arrows).sort());
  });

  test("no files import each other in a circle", () => {
    const imports = new Map(code.map((file) => [file.path, file.imports]));
    const visit = (path: string, trail: readonly string[]): string[] => {
      if (trail.includes(path)) return [[...trail, path].join(" → ")];
      return (imports.get(path) ?? []).flatMap((next) => visit(next, [...trail, path]));
    };
    expect(code.flatMap(({ path }) => visit(path, []))).toEqual([]);
  });

  test("SQL stands in storage/ alone", () => {
    const sql = /\b(?:SELECT .* FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE|PRAGMA)\b/;
    expect(offenders(code, sql, ({ room }) => room === "storage")).toEqual([]);
  });

  test("HTTP statuses stand in http/, public/ and operator/ alone", () => {
    expect(
      offenders(code, /\bstatus\w*\b.*\b[2-5]\d\d\b|\b[45]\d\d(?:0[1-9]|[1-3]\d)\b/, ({ room }) =>
        ["http", "public", "operator", "console", "cli", "client"].includes(room),
      ),
    ).toEqual([]);
  });

  test("only main.ts touches the process", () => {
    // The bundler is told what a browser, which has no process, should read in its place.
    const named = ["main.ts", "operator/console-bundle.ts"];
    expect(offenders(code, /\bprocess\.\w/, ({ path }) => named.includes(path))).toEqual([]);
  });

  test("Bun's own API stands where the design puts it", () => {
    const places = /^(?:http\/wire|operator\/console-bundle\.ts|storage\/sqlite)/;
    expect(offenders(code, /\bBun\.|from "bun/, ({ path }) => places.test(path))).toEqual([]);
  });

  test("PostgreSQL's driver stands in storage/postgres/ alone", () => {
    expect(offenders(code, /from "pg"/, ({ path }) => path.startsWith("storage/postgres/"))).toEqual([]);
  });

  test("no module keeps state of its own", () => {
    expect(offenders(code, /^(?:export )?let /m, () => false)).toEqual([]);
  });

  test("every file is used", () => {
    // Threads are named to the platform and the console to the bundler; the client library is there for others.
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

  test("no test is left out by accident, and nothing is left for later", () => {
    const tests = readdirSync(import.meta.dir, { encoding: "utf8" })
      .filter((name) => name !== "tidy.test.ts" && name.endsWith(".ts"))
      .map((name) => ({
        path: `test/${name}`,
        room: "test",
        text: readFileSync(join(import.meta.dir, name), "utf8"),
        imports: [],
      }));
    expect(offenders([...files, ...tests], /\b(?:test|describe)\.(?:only|skip|todo)\(/, () => false)).toEqual(
      [],
    );
    expect(offenders([...files, ...tests], /\b(?:TODO|FIXME|XXX|HACK)\b/, () => false)).toEqual([]);
  });

  // A ratchet: a file may be longer than this only for a reason, which is then written here.
  test("files stay short", () => {
    const linesMax = 250;
    const allowed: Record<string, number> = {};
    const long = code.filter(({ path, text }) => text.split("\n").length > (allowed[path] ?? linesMax));
    expect(long.map(({ path, text }) => `${path}: ${text.split("\n").length}`)).toEqual([]);
  });

  test("the lock file names no registry", () => {
    const lock = readFileSync(join(root, "package-lock.json"), "utf8");
    expect(lock).not.toMatch(
      /"resolved"|https?:\/\/(?!opencollective|github|feross|paypal|www\.patreon|ko-fi)[^"]*\.tgz/,
    );
  });
});
