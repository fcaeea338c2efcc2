// What a release ships: exact versions, licences, the bill of materials and its notes.
import { expect, test } from "bun:test";
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

test("the version of each dependency is exact, and the lock file names no registry", () => {
  const { dependencies, optionalDependencies, devDependencies } = packageFile;
  const wanted = Object.entries({ ...dependencies, ...optionalDependencies, ...devDependencies });
  expect(wanted.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([]);
  expect(JSON.stringify(lock)).not.toMatch(/"resolved"|https?:[^"]*\.tgz/);
});

test("neither the package nor one that ships with it has an install script", () => {
  expect(shipped.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
  expect(Object.keys(packageFile.scripts).filter((name) => /install|^prepare$/.test(name))).toEqual([]);
});

test("each package that ships has the licence of the lock file, and its text with a copyright", () => {
  const licences = installed.map(({ path }) => [
    path,
    JSON.parse(readFileSync(join(root, path, "package.json"), "utf8")).license,
  ]);
  expect(licences).toEqual(installed.map(({ path, license }) => [path, license]));
  const texts = licenceTexts(installed).split(/^-{72}$/m);
  const titles = installed.map(({ name, version }) => `${name} ${version}`);
  expect(texts.map((text) => text.trim().split(" (")[0])).toEqual(titles);
  expect(texts.filter((text) => !/copyright|JavaScriptCore/i.test(text))).toEqual([]);
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

test("what keeps a release from being ready is listed as its problems", () => {
  expect(releaseProblems(ready, false)).toEqual([]);
  const problemsWith = (changes: Partial<typeof ready>) =>
    releaseProblems({ ...ready, ...changes }, false).join("\n");
  expect(problemsWith({ tagsOfHead: ["v0.1.9"] })).toContain(
    "package.json has version 0.2.0, but the tag of this commit is v0.1.9.",
  );
  expect(problemsWith({ clientVersion: "0.1.0" })).toContain("packages/client/package.json 0.1.0");
  expect(problemsWith({ changelog: "## Unreleased\n\n- Moss.\n" })).toContain('no section "## 0.2.0"');
  expect(problemsWith({ status: " M a\n?? b\n" })).toContain(
    "The working tree has changes that are not committed: a, b.",
  );
});

test("a folder of a release has only the files that replace the old ones, unless they cannot be copied", () => {
  using parent = temporaryFolder();
  const old = parent.newFolder();
  const built = parent.newFolder();
  writeFileSync(join(old, "old.txt"), "old");
  writeFileSync(join(built, "new.txt"), "new");
  const before = readdirSync(parent.path);
  expect(() => replaceFolder(old, join(built, "missing"))).toThrow("ENOENT");
  expect(readdirSync(old)).toEqual(["old.txt"]);
  expect(readdirSync(parent.path)).toEqual(before);
  replaceFolder(old, built);
  expect(readdirSync(old)).toEqual(["new.txt"]);
});
