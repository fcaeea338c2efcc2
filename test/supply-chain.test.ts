import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import packageFile from "../package.json" with { type: "json" };
import lock from "../package-lock.json" with { type: "json" };
import {
  billOfMaterials,
  licenceProblems,
  licenceTexts,
  packagesInExecutable,
  shippedPackages,
} from "../scripts/supply-chain.js";

const root = join(import.meta.dir, "..");
const shipped = shippedPackages(lock);
const installed = shipped.filter(({ path }) => existsSync(join(root, path)));

test("every version is exact, the lock file names no registry, and what ships needs no install script", () => {
  const { dependencies, optionalDependencies, devDependencies } = packageFile;
  for (const version of Object.values({ ...dependencies, ...optionalDependencies, ...devDependencies }))
    expect(version).toMatch(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/);
  expect(JSON.stringify(lock)).not.toMatch(/"resolved"|https?:[^"]*\.tgz/);
  expect(shipped.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
  expect(Object.keys(packageFile.scripts).filter((name) => /install|^prepare$/.test(name))).toEqual([]);
});

test("what ships has the licence that its package names, with its copyright; another one is reported", () => {
  for (const { path, license } of installed)
    expect([path, JSON.parse(readFileSync(join(root, path, "package.json"), "utf8")).license]).toEqual([
      path,
      license,
    ]);
  const texts = licenceTexts(installed).split(/^-{72}$/m);
  const titles = installed.map(({ name, version }) => `${name} ${version}`);
  expect(texts.map((text) => text.trim().split(" (")[0])).toEqual(titles);
  for (const text of texts) expect(text).toMatch(/copyright|JavaScriptCore/i);
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

test("the bill of an executable has the packages that were bundled, and the Bun that runs them", () => {
  const files = [
    "src/main.ts",
    "node_modules/jose/dist/index.js",
    "node_modules/pg-cloudflare/dist/empty.js",
  ];
  const bill = billOfMaterials(lock, packagesInExecutable(lock, files, "@oven/bun-linux-aarch64"));
  const refs = bill.components.map(({ purl }) => purl.replace(/@[^@]*$/, ""));
  expect(refs).toEqual(["pkg:npm/%40oven/bun-linux-aarch64", "pkg:npm/jose", "pkg:npm/pg-cloudflare"]);
  // Optional to npm, but in the file.
  expect(bill.components.map(({ scope }) => scope)).toEqual(["required", "required", "required"]);
});
