import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
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
import { temporaryFolder } from "./harness.ts";

const root = join(import.meta.dir, "..");
const shipped = shippedPackages(lock);

test("every version is exact, and what ships needs no install script", () => {
  const { dependencies, optionalDependencies, devDependencies } = packageFile;
  for (const [name, version] of Object.entries({
    ...dependencies,
    ...optionalDependencies,
    ...devDependencies,
  }))
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/)]);
  expect(shipped.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
  expect(Object.keys(packageFile.scripts).filter((name) => /install|^prepare$/.test(name))).toEqual([]);
});

test("everything that ships has an allowed licence, and the one that its package names", () => {
  expect(licenceProblems(lock)).toEqual([]);
  const installed = shipped.filter(({ path }) => existsSync(join(root, path)));
  expect(installed.length).toBeGreaterThan(10);
  for (const { path, license } of installed)
    expect([path, JSON.parse(readFileSync(join(root, path, "package.json"), "utf8")).license]).toEqual([
      path,
      license,
    ]);
});

test("a package with another licence, or none, is reported", () => {
  const packages = {
    "": { name: "x", version: "1.0.0", license: "MIT" },
    "node_modules/a": { version: "1.0.0", license: "GPL-3.0" },
    "node_modules/b": { version: "2.0.0" },
    "node_modules/c": { version: "3.0.0", license: "GPL-3.0", dev: true },
  };
  expect(licenceProblems({ packages })).toEqual([
    expect.stringMatching(/^a 1\.0\.0 has GPL-3\.0, which is none of /),
    expect.stringMatching(/^b 2\.0\.0 has no licence, /),
  ]);
});

test("the bill of materials has all that ships, Bun too, with its hash, and each dependency", () => {
  const bill = billOfMaterials(lock);
  expect(bill.components.map(({ purl }) => purl)).toEqual(
    shipped.map(({ name, version }) => `pkg:npm/${name.replace("@", "%40")}@${version}`),
  );
  expect(bill.components.filter(({ type }) => type === "platform")).toHaveLength(8);
  for (const { hashes } of bill.components)
    expect(hashes).toEqual([{ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) }]);
  const known = [bill.metadata.component, ...bill.components].map((one) => one["bom-ref"]);
  const reached = new Set(bill.dependencies.flatMap(({ dependsOn }) => dependsOn));
  expect(bill.dependencies.map(({ ref }) => ref)).toEqual(known);
  // Nothing ships that nothing needs, and nothing is needed that does not ship.
  expect([...reached].sort()).toEqual(known.slice(1).sort());
  expect(JSON.stringify(bill)).not.toMatch(/https?:/);
  expect(JSON.stringify(billOfMaterials(lock))).toBe(JSON.stringify(bill));
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
  expect(bill.dependencies[0]?.dependsOn.map((ref) => ref.replace(/@[^@]*$/, ""))).toEqual([
    "pkg:npm/%40oven/bun-linux-aarch64",
    "pkg:npm/jose",
  ]);
});

test("the licence texts of an executable name every package, with its copyright", () => {
  const installed = shipped.filter(({ path }) => existsSync(join(root, path)));
  const texts = licenceTexts(installed).split(/^-{72}$/m);
  expect(texts.map((text) => text.trim().split(" (")[0])).toEqual(
    installed.map(({ name, version }) => `${name} ${version}`),
  );
  for (const text of texts) expect(text).toMatch(/copyright|JavaScriptCore/i);
});

test("the package contains the pinned versions and the bill of materials", () => {
  using folder = temporaryFolder();
  for (const name of ["package.json", "package-lock.json", "scripts/supply-chain.js", "bin"])
    cpSync(join(root, name), join(folder.path, name), { recursive: true });
  const run = (command: string, ...args: string[]) =>
    spawnSync(command, args, { cwd: folder.path, encoding: "utf8" }).stdout;
  run("node", "scripts/supply-chain.js", "pack");
  const packed = JSON.parse(run("npm", "pack", "--dry-run", "--ignore-scripts", "--json"));
  const [{ files }] = Array.isArray(packed) ? packed : Object.values(packed);
  const names = files.map(({ path }: { path: string }) => path);
  expect(names).toEqual(expect.arrayContaining(["npm-shrinkwrap.json", "dist/sbom.cdx.json"]));
  expect(names).not.toContain("package-lock.json");
  const shrinkwrap = readFileSync(join(folder.path, "npm-shrinkwrap.json"), "utf8");
  expect(shrinkwrap).toBe(readFileSync(join(root, "package-lock.json"), "utf8"));
  run("node", "scripts/supply-chain.js", "unpack");
  expect(existsSync(join(folder.path, "npm-shrinkwrap.json"))).toBe(false);
});
