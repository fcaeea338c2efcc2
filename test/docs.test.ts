// The documents: what they say of errors, settings, metrics, commands and files is what the code has.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import packageFile from "../package.json" with { type: "json" };
import { commands } from "../src/cli/run.ts";
import { secrets, settings } from "../src/config/settings.ts";
import { catalogue, publicKinds } from "../src/http/error-catalogue.ts";
import { metricFamilies } from "../src/telemetry/metrics.ts";

const root = join(import.meta.dir, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const filesIn = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`);
const pages = [
  "README.md",
  "packages/client/README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "CHANGELOG.md",
  ...filesIn("docs").filter((name) => name.endsWith(".md")),
];

/** The cells of every table row on the page whose first cell matches, without backticks. */
function rows(page: string, firstCell: RegExp): string[][] {
  const cells = (line: string) => line.split(/(?<!\\)\|/).slice(1, -1);
  return read(page)
    .split("\n")
    .filter((line) => line.startsWith("|") && firstCell.test(cells(line)[0]?.trim() ?? ""))
    .map((line) => cells(line).map((cell) => cell.trim().replaceAll("`", "")));
}

/** What the pattern finds on the pages and the predicate rejects, with the page. */
function rejected(
  among: readonly string[],
  pattern: RegExp,
  isRight: (found: readonly string[], page: string) => boolean,
): string[] {
  return among.flatMap((page) =>
    [...read(page).matchAll(pattern)]
      .filter(([, ...found]) => !isRight(found, page))
      .map(([text]) => `${page}: ${text}`),
  );
}

test("the errors page has every error of the catalogue, word for word, and those of the operator listener", () => {
  const errors = Object.values(catalogue).sort((a, b) => a.error - b.error);
  const written = errors.map(({ error, when, remedy }) => [String(error), when, remedy]);
  expect(rows("docs/errors.md", /^`?\d{5}`?$/)).toEqual(
    written.map((row) => row.map((cell) => cell.replaceAll("`", ""))),
  );

  const text = read("docs/errors.md").replaceAll("\n", " ");
  const [, sentence = ""] = /\. ([^.]*) come only from the operator listener/.exec(text) ?? [];
  const isPublic = new Set(publicKinds.map((kind) => catalogue[kind].error));
  const others = errors.map(({ error }) => error).filter((error) => !isPublic.has(error));
  expect((sentence.match(/\d{5}/g) ?? []).map(Number)).toEqual(others);
});

test("the settings page has every setting, word for word, and every secret", () => {
  const known = Object.values(settings).map(({ flag, variable, default: text, help }) =>
    [`--${flag}`, variable, text || "none", help].map((cell) => cell.replaceAll("`", "")),
  );
  expect(rows("docs/configuration.md", /^`--/)).toEqual(known);
  const page = read("docs/configuration.md");
  expect(Object.values(secrets).filter(({ variable }) => !page.includes(variable))).toEqual([]);
});

test("the monitoring page has every metric", () => {
  const listed = rows("docs/monitor.md", /^`(?:plant_store|process)_/).flatMap(
    ([names = ""]) => names.match(/(?:plant_store|process)_\w+/g) ?? [],
  );
  expect(listed).toEqual(Object.keys(metricFamilies));
});

test("CONTRIBUTING.md has every npm script", () => {
  const scripts = rows("CONTRIBUTING.md", /^`[\w:]+`$/).map(([name = ""]) => name);
  expect(scripts.sort()).toEqual(Object.keys(packageFile.scripts).sort());
});

test("every npm script and command that a page names exists", () => {
  const scripts = Object.keys(packageFile.scripts);
  expect(rejected(pages, /npm run ([\w:-]+)/g, ([name = ""]) => scripts.includes(name))).toEqual([]);
  const known = [...Object.keys(commands).map((words) => words.split(" ")[0] ?? ""), "COMMAND"];
  const current = pages.filter((name) => name !== "CHANGELOG.md");
  const named = /(?:^ *|`|\$\()plant-store ([a-z]\w+)/gm;
  expect(rejected(current, named, ([name = ""]) => known.includes(name))).toEqual([]);
});

test("every file and section to which a page links exists", () => {
  const isThere = ([target = ""]: readonly string[], page: string) =>
    existsSync(join(root, dirname(page), target));
  expect(rejected(pages, /\]\((?!https?:|#|mailto:)([^)#]+)/g, isThere)).toEqual([]);
  const anchors = (page: string) =>
    Array.from(read(page).matchAll(/^#+ (.+)$/gm), ([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    );
  const isSection = ([file = "", anchor = ""]: readonly string[], page: string) =>
    anchors(file === "" ? page : join(dirname(page), file)).includes(anchor);
  expect(rejected(pages, /\]\((?!https?:)([^)#]*\.md|)#([^)]+)\)/g, isSection)).toEqual([]);
});

test("every source file and method that a page names exists", () => {
  const sources = ["src", "test", "bin", "scripts", "bench"].flatMap(filesIn);
  const isSource = ([path = ""]: readonly string[]) => sources.includes(path);
  expect(rejected(pages, /`((?:src|test|bin|scripts|bench)\/[\w./-]+\.\w+)`/g, isSource)).toEqual([]);

  // ARCHITECTURE.md also names them by the end of their path.
  const isEnd = ([name = ""]: readonly string[]) => sources.some((path) => `/${path}`.endsWith(`/${name}`));
  expect(rejected(["ARCHITECTURE.md"], /`([\w./-]+\.(?:ts|tsx|js|json))`/g, isEnd)).toEqual([]);

  const texts = sources.filter((path) => /^src.*\.tsx?$/.test(path)).map(read);
  const exists = ([type, member]: readonly string[]) =>
    texts.some((text) => {
      const isDeclared = new RegExp(`^(?:export )?(?:class|interface) ${type}\\b`, "m").test(text);
      return isDeclared && new RegExp(`^  (?:async |readonly |get )?${member}\\b`, "m").test(text);
    });
  const named = /`((?!Bun\b|JSON\b)[A-Z]\w+)\.([a-z]\w+)`/g;
  expect(rejected(["ARCHITECTURE.md"], named, exists)).toEqual([]);
});

test("every section that a measurement writes is in its file", () => {
  const programs = ["bench", "test/soak"].flatMap(filesIn).filter((path) => /^[^.]*\.ts$/.test(path));
  const isSection = ([file = "", name = ""]: readonly string[]) =>
    [`<!-- ${name} -->`, `<!-- /${name} -->`].every((marker) => read(`docs/${file}`).includes(marker));
  expect(rejected(programs, /\b(?:write|edit)Section\(\s*"([^"]+)",\s*"([^"]+)"/g, isSection)).toEqual([]);
});

test("no text uses npx, which outside the clone downloads a name that is not ours, and passes no signal on", () => {
  const texts = ["src", "bin", "scripts", "examples", "deploy"]
    .flatMap(filesIn)
    .filter((path) => /\.(?:tsx?|js|sh|ya?ml|html|json|service)$|Dockerfile/.test(path));
  const unsafe =
    /\bnp(?:x|m exec|m x) |\b(?:npm (?:i|install|add)|(?:pnpm|yarn|bun) add) (?:-\S+ )*plant-store/g;
  expect(rejected([...texts, ...pages, "package.json"], unsafe, () => false)).toEqual([]);
});

test("decision records are short, and listed with their titles", () => {
  const records = filesIn("docs/adr")
    .filter((page) => !page.endsWith("README.md"))
    .sort();
  expect(records.filter((page) => read(page).trimEnd().split("\n").length > 60)).toEqual([]);
  const titles = records.map((page) => {
    const title = read(page).split("\n")[0]?.replace("# ", "");
    return `- [${title}](${basename(page)})`;
  });
  const lines = read("docs/adr/README.md").split("\n");
  expect(lines.filter((line) => line.startsWith("- "))).toEqual(titles);
});

test("the README shows the two commands on its first screen", () => {
  const firstScreen = read("README.md").split("\n").slice(0, 40).join("\n");
  for (const command of ["npm ci && npm start", "npm ci && npm test"]) expect(firstScreen).toContain(command);
});
