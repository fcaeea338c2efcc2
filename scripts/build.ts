// npm run build [-- TARGET…]: dist/plant-store, a single executable for this machine; with targets, one for each by its name;
// with `all`, one for each platform that Bun supports. Checksums of all are in dist/SHA256SUMS.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { BunPlugin } from "bun";
import packageFile from "../package.json" with { type: "json" };
import { bundleConsole } from "../src/operator/console-bundle.ts";
import { threadEntries } from "../src/threads/thread.ts";

// By our name, with the npm package that has Bun for it.
const targets: Record<string, string> = {
  "linux-x64": "bun-linux-x64",
  "linux-x64-baseline": "bun-linux-x64-baseline",
  "linux-arm64": "bun-linux-aarch64",
  "linux-x64-musl": "bun-linux-x64-musl",
  "linux-arm64-musl": "bun-linux-aarch64-musl",
  "darwin-x64": "bun-darwin-x64",
  "darwin-arm64": "bun-darwin-aarch64",
  "windows-x64": "bun-windows-x64",
};

const bunVersion = packageFile.optionalDependencies["@oven/bun-linux-x64"];
const root = join(import.meta.dir, "..");
const source = join(root, "src");
const dist = join(root, "dist");
const cache = join(root, "node_modules/.cache/plant-store-build");
const wanted = process.argv.slice(2);
const names = wanted.includes("all") ? Object.keys(targets) : wanted;
const unknown = names.filter((name) => targets[name] === undefined);
if (unknown.length > 0) {
  console.error(
    `There is no target ${unknown.join(", ")}; there are ${Object.keys(targets).join(", ")} and all.`,
  );
  process.exit(2);
}

mkdirSync(dist, { recursive: true });
const plugin = await builtConsole();
if (names.length === 0) await build("plant-store", process.execPath, undefined);
for (const name of names) {
  const file = `plant-store-${packageFile.version}-${name}${name.startsWith("windows") ? ".exe" : ""}`;
  await build(file, fetchBun(targets[name] ?? ""), `bun-${name}`);
}
writeChecksums();

async function build(file: string, executablePath: string, target: string | undefined): Promise<void> {
  const outfile = join(dist, file);
  await Bun.build({
    entrypoints: [join(source, "main.ts"), ...threadEntries.map((entry) => join(source, `${entry}.ts`))],
    // Entry points get their names from their paths below it; threads are found by these.
    root: source,
    target: "bun",
    minify: { syntax: true, whitespace: true, identifiers: false },
    define: { BUILT_INTO_ONE_FILE: "true" },
    plugins: [plugin],
    throw: true,
    compile: {
      outfile,
      executablePath,
      ...(target === undefined ? {} : { target: target as Bun.Build.CompileTarget }),
      // Nothing of the current folder may be read (ADR 26).
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  console.log(`${file}  ${(Bun.file(outfile).size / 1e6).toFixed(1)} MB`);
}

/** Puts the bundled console in the place of its bundler. */
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

// From npm, like every other dependency; Bun's own download would go around its settings.
function fetchBun(name: string): string {
  const folder = join(cache, `${name}-${bunVersion}`);
  const binary = join(folder, "package/bin", name.includes("windows") ? "bun.exe" : "bun");
  if (Bun.file(binary).size > 0) return binary;
  mkdirSync(folder, { recursive: true });
  const packed = spawnSync("npm", ["pack", `@oven/${name}@${bunVersion}`, "--silent"], {
    cwd: folder,
    encoding: "utf8",
  });
  const archive = packed.stdout.trim().split("\n").at(-1) ?? "";
  const unpacked = spawnSync("tar", ["-xzf", archive], { cwd: folder, encoding: "utf8" });
  if (packed.status !== 0 || unpacked.status !== 0) {
    console.error(`Bun for ${name} could not be fetched: ${packed.stderr}${unpacked.stderr}`);
    process.exit(1);
  }
  rmSync(join(folder, archive));
  return binary;
}

function writeChecksums(): void {
  const lines = readdirSync(dist)
    .filter((file) => file.startsWith("plant-store"))
    .sort()
    .map((file) => {
      const sum = createHash("sha256")
        .update(readFileSync(join(dist, file)))
        .digest("hex");
      return `${sum}  ${basename(file)}\n`;
    });
  writeFileSync(join(dist, "SHA256SUMS"), lines.join(""));
}
