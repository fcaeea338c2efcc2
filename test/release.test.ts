// What a release ships: exact versions, licences, the bill of materials and its notes.
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageFile from "../package.json" with { type: "json" };
import lock from "../package-lock.json" with { type: "json" };
import { changelogSection, releaseProblems } from "../scripts/release-notes.ts";
import { replaceFolder } from "../scripts/replace-folder.ts";
import { billOfMaterials, licenceProblems, licenceTexts, shippedPackages } from "../scripts/supply-chain.js";
import { temporaryFolder } from "./support/temporary-folder.ts";

const root = join(import.meta.dir, "..");
const shipped = shippedPackages(lock);
const installed = shipped.filter(({ path }) => existsSync(join(root, path)));

const { dependencies, optionalDependencies, devDependencies } = packageFile;
const versionsWanted = Object.entries({ ...dependencies, ...optionalDependencies, ...devDependencies });

test.each(versionsWanted)("the version of %s is exact: %s", (_, version) => {
  expect(version).toMatch(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/);
});

test("the lock file names no registry", () => {
  expect(JSON.stringify(lock)).not.toMatch(/"resolved"|https?:[^"]*\.tgz/);
});

test("no package that ships has an install script", () => {
  expect(shipped.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
});

test("the package itself has no install script", () => {
  expect(Object.keys(packageFile.scripts).filter((name) => /install|^prepare$/.test(name))).toEqual([]);
});

test.each(installed.map(({ path, license }) => [path, license]))(
  "%s has the licence of the lock file, %s",
  (path, license) => {
    expect(JSON.parse(readFileSync(join(root, path, "package.json"), "utf8")).license).toBe(license);
  },
);

const texts = licenceTexts(installed).split(/^-{72}$/m);

test("the licences have a text for each package that ships", () => {
  const titles = installed.map(({ name, version }) => `${name} ${version}`);
  expect(texts.map((text) => text.trim().split(" (")[0])).toEqual(titles);
});

test("each text of a licence names a copyright", () => {
  for (const text of texts) expect(text).toMatch(/copyright|JavaScriptCore/i);
});

test("a licence that is not allowed, or none, is reported if its package ships", () => {
  const packages = {
    "node_modules/a": { version: "1.0.0", license: "GPL-3.0" },
    "node_modules/b": { version: "2.0.0" },
    "node_modules/c": { version: "3.0.0", license: "GPL-3.0", dev: true },
  };
  expect(licenceProblems({ packages })).toEqual([
    expect.stringMatching(/^a 1\.0\.0 has GPL-3\.0, which is none of /),
    expect.stringMatching(/^b 2\.0\.0 has no licence, /),
  ]);
});

test("the bill of materials has all that ships, with its hash, and each dependency", () => {
  const bill = billOfMaterials(lock);
  const purls = shipped.map(({ name, version }) => `pkg:npm/${name.replace("@", "%40")}@${version}`);
  expect(bill.components.map(({ purl }) => purl)).toEqual(purls);
  for (const { hashes } of bill.components) expect(hashes[0]?.content).toMatch(/^[0-9a-f]{128}$/);
  const known = [bill.metadata.component, ...bill.components].map((one) => one["bom-ref"]);
  expect(bill.dependencies.map(({ ref }) => ref)).toEqual(known);
  // Nothing ships that nothing needs, and nothing is needed that does not ship.
  const reached = new Set(bill.dependencies.flatMap(({ dependsOn }) => dependsOn));
  expect([...reached].sort()).toEqual(known.slice(1).sort());
});

const changelog =
  "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n- Moss.\n\n## [0.1.0]\n\n- Fern.\n";
const versions = { version: "0.2.0", clientVersion: "0.2.0" };
const ready = { ...versions, changelog, status: "", tagsOfHead: ["v0.2.0", "nightly"] };

test("the notes are the changelog's section of that version", () => {
  const sections = ["0.2.0", "0.1.0", "Unreleased", "0.2"].map((name) => changelogSection(changelog, name));
  expect(sections).toEqual(["- Moss.\n", "- Fern.\n", undefined, undefined]);
  const own = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  expect(changelogSection(own, "2.0.0")).toStartWith("A durable intake for plant records over HTTP");
});

test("a release that is ready has no problems", () => {
  expect(releaseProblems(ready, false)).toEqual([]);
});

test.each([
  [{ tagsOfHead: ["v0.1.9"] }, "package.json has version 0.2.0, but the tag of this commit is v0.1.9."],
  [{ clientVersion: "0.1.0" }, "packages/client/package.json 0.1.0"],
  [{ changelog: "## Unreleased\n\n- Moss.\n" }, 'no section "## 0.2.0"'],
  [{ status: " M a\n?? b\n" }, "The working tree has changes that are not committed: a, b."],
])("a release with %j says %j", (changes, problem) => {
  expect(releaseProblems({ ...ready, ...changes }, false).join("\n")).toContain(problem);
});

describe("a folder of a release", () => {
  function folders() {
    const parent = temporaryFolder();
    const old = parent.newFolder();
    const built = parent.newFolder();
    writeFileSync(join(old, "old.txt"), "old");
    writeFileSync(join(built, "new.txt"), "new");
    return { parent, old, built, [Symbol.dispose]: () => parent[Symbol.dispose]() };
  }

  test("has only the files that replace the old ones", () => {
    using made = folders();
    replaceFolder(made.old, made.built);
    expect(readdirSync(made.old)).toEqual(["new.txt"]);
  });

  test("is unchanged if they cannot be copied", () => {
    using made = folders();
    const before = readdirSync(made.parent.path);
    expect(() => replaceFolder(made.old, join(made.built, "missing"))).toThrow("ENOENT");
    expect(readdirSync(made.old)).toEqual(["old.txt"]);
    expect(readdirSync(made.parent.path)).toEqual(before);
  });
});
