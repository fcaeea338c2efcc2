// What ships, from package-lock.json:
//   npm run sbom       prints a bill of materials (CycloneDX 1.6, JSON); the same lock file always gives the same text
// `npm pack` calls it with `pack` before and `unpack` after.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

// Licences that require no more than their own text.
const licencesAllowed = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"];
const runtime = "@oven/bun-";
const inRuntime =
  "The Bun binary also contains third-party software, such as JavaScriptCore (LGPL-2.1), BoringSSL and SQLite; its LICENSE.md names them.";

/** The packages of a lock file that are installed with `--omit=dev`, by their path. */
export function shippedPackages(lock) {
  return Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== "" && !dev)
    .map(([path, entry]) => ({ ...entry, path, name: path.slice(path.lastIndexOf("node_modules/") + 13) }));
}

/** One sentence for each package that ships under a licence that is not allowed, or none. */
export function licenceProblems(lock) {
  return shippedPackages(lock)
    .filter(({ license }) => !licencesAllowed.includes(license))
    .map(
      ({ name, version, license = "no licence" }) =>
        `${name} ${version} has ${license}, which is none of ${licencesAllowed.join(", ")}.`,
    );
}

/** What a single executable contains: the packages that the bundler read files of, and the one Bun that runs them. */
export function packagesInExecutable(lock, bundledFiles, bunName) {
  const folders = new Set(bundledFiles.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]));
  return shippedPackages(lock)
    .filter(({ path, name }) => folders.has(path) || name === bunName)
    .map((entry) => ({ ...entry, optional: false }));
}

export function billOfMaterials(lock, shipped = shippedPackages(lock)) {
  const runtimes = shipped.filter(({ name }) => name.startsWith(runtime));
  const optionalDependencies = Object.fromEntries(runtimes.map(({ name, version }) => [name, version]));
  const root = { ...lock.packages[""], path: "", optionalDependencies };
  const component = { type: "application", "bom-ref": purl(root), ...described(root) };
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component },
    components: shipped.map((entry) => ({
      type: entry.name.startsWith(runtime) ? "platform" : "library",
      "bom-ref": purl(entry),
      ...described(entry),
      ...(entry.name.startsWith(runtime) ? { description: inRuntime } : {}),
      scope: entry.optional ? "optional" : "required",
      hashes: [sha512(entry.integrity)],
    })),
    dependencies: [root, ...shipped].map((entry) => ({
      ref: purl(entry),
      dependsOn: dependenciesOf(entry, shipped).map(purl).sort(),
    })),
  };
}

/** The licence texts of packages, which nearly every licence requires to be included in copies. */
export function licenceTexts(packages) {
  return packages
    .map(({ path, name, version, license }) => {
      const text = name.startsWith(runtime) ? inRuntime : licenceText(inRoot(path));
      return `${name} ${version} (${license})\n\n${text.trim()}\n`;
    })
    .join(`\n${"-".repeat(72)}\n\n`);
}

/** Some packages have theirs at the end of the README only. */
function licenceText(folder) {
  const files = readdirSync(folder);
  const file = files.find((name) => /^(?:licen[cs]e|copying)/i.test(name));
  if (file !== undefined) return readFileSync(`${folder}/${file}`, "utf8");
  const readme = readFileSync(`${folder}/${files.find((name) => /^readme/i.test(name))}`, "utf8");
  const [, text] = /^#+ *licen[cs]e[^\n]*\n(.+)/ims.exec(readme) ?? [];
  if (text === undefined) throw new Error(`${folder} has no licence text.`);
  return text;
}

function described({ name, version, license }) {
  const [, group, plain = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [];
  return {
    ...(group === undefined ? {} : { group }),
    name: plain,
    version,
    licenses: [{ license: { id: license } }],
    purl: purl({ name, version }),
  };
}

function purl({ name, version }) {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function sha512(integrity) {
  const [algorithm, base64 = ""] = integrity.split("-");
  if (algorithm !== "sha512") throw new Error(`${integrity} is not a SHA-512.`);
  return { alg: "SHA-512", content: Buffer.from(base64, "base64").toString("hex") };
}

/** As Node finds them: in the package's own folder first, then in each folder above it. */
function dependenciesOf({ path, dependencies, optionalDependencies }, shipped) {
  return Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) => {
    for (let from = path; ; from = from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/")))) {
      const place = `${from === "" ? "" : `${from}/`}node_modules/${name}`;
      const found = shipped.find((entry) => entry.path === place);
      if (found !== undefined || from === "") return found ?? [];
    }
  });
}

const commands = {
  sbom: (lock) => console.log(JSON.stringify(billOfMaterials(lock), null, 2)),
  /** A lock file is never part of a package; a shrinkwrap is, and pins what its users install. */
  pack(lock) {
    copyFileSync(inRoot("package-lock.json"), inRoot("npm-shrinkwrap.json"));
    mkdirSync(inRoot("dist"), { recursive: true });
    writeFileSync(inRoot("dist/sbom.cdx.json"), `${JSON.stringify(billOfMaterials(lock), null, 2)}\n`);
  },
  unpack: () => rmSync(inRoot("npm-shrinkwrap.json"), { force: true }),
};

function inRoot(name) {
  return fileURLToPath(new URL(`../${name}`, import.meta.url));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const command = commands[process.argv[2] ?? ""];
  if (command === undefined) throw new Error(`Name one of ${Object.keys(commands).join(", ")}.`);
  command(JSON.parse(readFileSync(inRoot("package-lock.json"), "utf8")));
}
