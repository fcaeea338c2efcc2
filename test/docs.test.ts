import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import packageFile from "../package.json" with { type: "json" };
import { commands } from "../src/cli/run.ts";
import { readConfig } from "../src/config/read-config.ts";
import { secrets, settings } from "../src/config/settings.ts";
import { catalogue, publicKinds } from "../src/http/error-catalogue.ts";
import { metricFamilies } from "../src/operator/metrics.ts";

const root = join(import.meta.dir, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const pages = [
  ...[
    "README.md",
    "packages/client/README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
  ],
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

interface Manifest {
  readonly kind: string;
  readonly stringData?: Record<string, string>;
}

/** The cells of every table row on the page whose first cell matches. */
function rows(page: string, firstCell: RegExp): string[][] {
  return read(page)
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter(([cell = ""]) => firstCell.test(cell));
}

describe("the documents match the code", () => {
  test("the errors page has every error of the catalogue, word for word, and no other", () => {
    const written = rows("docs/errors.md", /^`?\d{5}`?$/).map(([error = "", when, remedy]) => [
      error.replaceAll("`", ""),
      when,
      remedy,
    ]);
    const known = Object.values(catalogue)
      .sort((a, b) => a.error - b.error)
      .map(({ error, when, remedy }) => [String(error), when, remedy]);
    expect(written).toEqual(known as never);
  });

  test("the errors page names every error of the operator listener alone, and no other", () => {
    const text = read("docs/errors.md").replaceAll("\n", " ");
    const [, sentence = ""] = /\. ([^.]*) come only from the operator listener/.exec(text) ?? [];
    const publicErrors = publicKinds.map((kind) => catalogue[kind].error);
    const known = Object.values(catalogue).map(({ error }) => error);
    expect((sentence.match(/\d{5}/g) ?? []).map(Number)).toEqual(
      known.filter((error) => !publicErrors.includes(error)).sort((a, b) => a - b),
    );
  });

  test("the settings page has every setting, word for word, and no other", () => {
    const written = rows("docs/configuration.md", /^`--/).map((row) =>
      row.map((cell) => cell.replaceAll("`", "")),
    );
    const known = Object.values(settings).map(({ flag, environment, default: text, help }) => [
      `--${flag}`,
      environment,
      text || "none",
      help,
    ]);
    expect(written).toEqual(known.map((row) => row.map((cell) => cell.replaceAll("`", ""))));
    for (const variable of Object.values(secrets)) expect(read("docs/configuration.md")).toContain(variable);
  });

  test("the monitoring page has every metric, and no other", () => {
    const listed = rows("docs/monitor.md", /^`(?:plant_store|process)_/).flatMap(([names = ""]) =>
      [...names.matchAll(/`(\w+)/g)].map(([, name = ""]) => name),
    );
    expect(listed).toEqual(Object.keys(metricFamilies));
  });

  test("CONTRIBUTING.md has every npm script, and no other", () => {
    const listed = rows("CONTRIBUTING.md", /^`[\w:]+`$/).map(([name = ""]) => name.replaceAll("`", ""));
    expect(listed.sort()).toEqual(Object.keys(packageFile.scripts).sort());
  });

  test("settings and scripts are listed in one document each", () => {
    for (const page of pages.filter((name) => name !== "docs/configuration.md"))
      expect([page, rows(page, /^`--/)]).toEqual([page, []]);
    for (const page of pages.filter((name) => name !== "CONTRIBUTING.md"))
      expect([page, rows(page, /^`npm run|^`[a-z]+:[a-z]+`$/)]).toEqual([page, []]);
  });

  test("every npm script that a page names exists", () => {
    const known = Object.keys(packageFile.scripts);
    for (const page of pages) {
      for (const match of read(page).matchAll(/npm run ([\w:-]+)/g))
        expect([page, known]).toEqual([page, expect.arrayContaining([match[1]])]);
    }
  });

  test("every plant-store command that a page names exists", () => {
    const known = [...Object.keys(commands).map((words) => words.split(" ")[0]), "COMMAND"];
    for (const page of pages.filter((name) => name !== "CHANGELOG.md")) {
      for (const match of read(page).matchAll(/(?:^ *|`|\$\()plant-store ([a-z]\w+)/gm))
        expect([page, known]).toEqual([page, expect.arrayContaining([match[1]])]);
    }
  });

  test("no text uses npx, which outside the clone downloads a name that is not ours, and passes no signal on", () => {
    const texts = ["src", "bin", "scripts", "test", "examples", "deploy", "docs"]
      .flatMap((folder) =>
        readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map(
          (name) => `${folder}/${name}`,
        ),
      )
      .filter((path) => /\.(?:md|tsx?|js|sh|ya?ml|html|json|service)$|Dockerfile/.test(path))
      .concat(pages, "package.json");
    expect(texts.length).toBeGreaterThan(100);
    const unsafe = texts.flatMap((path) =>
      [...read(path).matchAll(/\bnp(?:x|m exec|m x) .*/g)]
        .map(([line]) => line)
        .filter(() => path !== "test/docs.test.ts")
        .map((line) => `${path}: ${line}`),
    );
    expect(unsafe).toEqual([]);
    const installs = /\b(?:npm (?:i|install|add)|(?:pnpm|yarn|bun) add) (?:-\S+ )*plant-store/;
    expect(texts.filter((path) => installs.test(read(path)))).toEqual([]);
  });

  test("no secret in a deploy file is valid as a token", () => {
    const files = ["deploy", "deploy/examples"].flatMap((folder) =>
      readdirSync(join(root, folder), { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => `${folder}/${name}`),
    );
    const manifests = files.filter((path) => path.includes("/kubernetes"));
    const documents = manifests.flatMap((path) => Bun.YAML.parse(read(path)) as Manifest[]).flat();
    const placeholders = documents.flatMap(({ kind, stringData = {} }) =>
      kind === "Secret" ? Object.values(stringData) : [],
    );
    expect(placeholders.length).toBeGreaterThan(1);
    for (const text of placeholders) {
      for (const name of ["PLANT_STORE_ACCESS_TOKEN", "PLANT_STORE_OPERATOR_TOKEN"]) {
        const config = { flags: {}, environment: { [`${name}_FILE`]: "secret" }, readFile: () => text };
        expect(() => readConfig(config)).toThrow(`${name}_FILE must hold a token`);
      }
    }
    // The others name files, and contain no secret.
    for (const file of files.filter((path) => !manifests.includes(path)))
      expect([file, read(file)]).toEqual([file, expect.not.stringMatching(/_(?:TOKEN|PASSWORD)[:=]/)]);
  });

  test("every link to a file has a target", () => {
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)/g)]
        .map((match) => match[1] ?? "")
        .filter((target) => !existsSync(join(root, dirname(page), target)))
        .map((target) => `${page} → ${target}`),
    );
    expect(broken).toEqual([]);
  });

  test("every link to a section has a target", () => {
    const anchors = (page: string) =>
      [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
        title
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
          .replaceAll(" ", "-"),
      );
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:)([^)#]*\.md|)#([^)]+)\)/g)]
        .filter(([, file, anchor = ""]) => !anchors(file ? join(dirname(page), file) : page).includes(anchor))
        .map(([link]) => `${page} → ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test("every source file that a page names exists", () => {
    const missing = pages.flatMap((page) =>
      [...read(page).matchAll(/`((?:src|test|bin|scripts|bench)\/[\w./-]+\.\w+)`/g)]
        .map((match) => match[1] ?? "")
        .filter((path) => !existsSync(join(root, path)))
        .map((path) => `${page} → ${path}`),
    );
    expect(missing).toEqual([]);
  });

  // It names files from src/ on, or by their last name alone.
  test("every source file that ARCHITECTURE.md names exists", () => {
    const files = ["src", "scripts", "test", "bin"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map(
        (name) => `/${folder}/${name}`,
      ),
    );
    const named = [...read("ARCHITECTURE.md").matchAll(/`([\w./-]+\.(?:ts|tsx|js|json))`/g)].map(
      ([, name]) => name,
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !files.some((path) => path.endsWith(`/${name}`)))).toEqual([]);
  });

  test("decision records are short", () => {
    for (const name of readdirSync(join(root, "docs/adr"))) {
      expect([name, read(`docs/adr/${name}`).split("\n").length < 46]).toEqual([name, true]);
    }
  });

  test("the README shows the two commands on its first screen", () => {
    const firstScreen = read("README.md").split("\n").slice(0, 40).join("\n");
    for (const command of ["npm ci && npm start", "npm ci && npm test"])
      expect(firstScreen).toContain(command);
  });
});
