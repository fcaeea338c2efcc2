// npm run build [-- TARGET…]: dist/plant-store, a single executable for this machine; with targets, one for each by its name;
// with `all`, one for each. Each comes with its bill of materials and the licences of what it contains; SHA256SUMS covers all.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { BunPlugin } from "bun";
import packageFile from "../package.json" with { type: "json" };
import lock from "../package-lock.json" with { type: "json" };
import { bundleConsole } from "../src/operator/console-bundle.ts";
import { threadEntries } from "../src/storage/sqlite/threads/thread.ts";
import { writeChecksums } from "./checksums.ts";
import { type BunPackage, fetchBun, ownBun } from "./fetch-bun.ts";
import { fail } from "./processes.js";
import { billOfMaterials, licenceTexts, packagesInExecutable } from "./supply-chain.js";

// By our name, with the npm package of its Bun.
const targets: Record<string, string> = {
  "linux-x64": "@oven/bun-linux-x64",
  "linux-arm64": "@oven/bun-linux-aarch64",
};

const root = join(import.meta.dir, "..");
const source = join(root, "src");
const dist = join(root, "dist");
const wanted = process.argv.slice(2);
const names = wanted.includes("all") ? Object.keys(targets) : wanted;
const unknown = names.filter((name) => targets[name] === undefined);
if (unknown.length > 0)
  fail(`There is no target ${unknown.join(", ")}; there are ${Object.keys(targets).join(", ")} and all.`, 2);

mkdirSync(dist, { recursive: true });
const plugin = await builtConsole();
const consoleFiles = await filesOfConsole();
if (names.length === 0) await build("plant-store", ownBun(), undefined);
for (const name of names)
  await build(`plant-store-${packageFile.version}-${name}`, fetchBun(targets[name] ?? ""), `bun-${name}`);
writeChecksums(dist);

async function build(name: string, bun: BunPackage, target: string | undefined): Promise<void> {
  const outfile = join(dist, name);
  const { metafile } = await Bun.build({
    entrypoints: [join(source, "main.ts"), ...threadEntries.map((entry) => join(source, `${entry}.ts`))],
    // Entry points get their names from their paths below it; threads are found by these.
    root: source,
    target: "bun",
    minify: { syntax: true, whitespace: true, identifiers: false },
    define: { BUILT_INTO_ONE_FILE: "true" },
    plugins: [plugin],
    metafile: true,
    throw: true,
    compile: {
      outfile,
      executablePath: bun.binary,
      ...(target === undefined ? {} : { target: target as Bun.Build.CompileTarget }),
      // Nothing of the current folder may be read (ADR 1).
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  const bundled = packagesInExecutable(lock, [...filesIn(metafile), ...consoleFiles], bun.name);
  const bill = JSON.stringify(billOfMaterials(lock, bundled), null, 2);
  writeFileSync(join(dist, `${name}.cdx.json`), `${bill}\n`);
  writeFileSync(join(dist, `${name}.licences.txt`), licenceTexts(bundled));
  console.log(`${name}  ${(Bun.file(outfile).size / 1e6).toFixed(1)} MB`);
}

/** The console's bundle is only text to the build, so its files are listed separately. */
async function filesOfConsole(): Promise<string[]> {
  const { metafile } = await Bun.build({
    entrypoints: [join(source, "console/main.tsx"), join(source, "style/theme.browser.js")],
    tsconfig: join(source, "console/tsconfig.json"),
    target: "browser",
    metafile: true,
    throw: true,
  });
  return filesIn(metafile);
}

function filesIn(metafile: Bun.BuildMetafile | undefined): string[] {
  return Object.keys(metafile?.inputs ?? {}).map((path) => relative(root, path));
}

/** Replaces the console's bundler with the bundled console. */
async function builtConsole(): Promise<BunPlugin> {
  const files = [...(await bundleConsole())].map(([path, { type, gzip }]) => [
    path,
    type,
    Buffer.from(gzip).toString("base64"),
  ]);
  const contents = `
    import { gunzipSync } from "node:zlib";
    const files = ${JSON.stringify(files)};
    export async function bundleConsole() {
      return new Map(files.map(([path, type, text]) => {
        const gzip = Buffer.from(text, "base64");
        return [path, { type, gzip, bytes: gunzipSync(gzip) }];
      }));
    }`;
  return {
    name: "built-console",
    setup(builder) {
      builder.onLoad({ filter: /operator\/console-bundle\.ts$/ }, () => ({ contents, loader: "js" }));
    },
  };
}
