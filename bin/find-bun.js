// Where npm put the Bun binary: in the package for this platform. The package `bun` would only add an install script
// that moves it.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);

export function findBun() {
  const { platform } = process;
  const arch = process.arch === "arm64" ? "aarch64" : process.arch;
  const file = platform === "win32" ? "bun.exe" : "bun";
  const os = platform === "win32" ? "windows" : platform;
  const candidates = [`${os}-${arch}`, `${os}-${arch}-musl`].map((name) =>
    inPackage(`@oven/bun-${name}`, `bin/${file}`),
  );
  return candidates.find((path) => path !== undefined && existsSync(path));
}

/**
 * How Bun is always started. By itself it runs what bunfig.toml and tsconfig.json of the current folder name, reads its
 * .env files, and downloads packages that it misses: any folder could then run its code with the user's tokens.
 */
export const bunFlags = [
  `--config=${ownFile("bunfig.toml")}`,
  `--tsconfig-override=${ownFile("tsconfig.json")}`,
  "--no-env-file",
  "--no-install",
];

export const bunMissing =
  `plant-store: Found no Bun binary for ${process.platform}-${process.arch}; ` +
  "run `npm ci` again without --omit=optional, on Linux, macOS or Windows with an x64 or arm64 processor.";

export const processorTooOld =
  "plant-store: Bun ended with SIGILL: the processor lacks instructions that Bun needs, such as AVX2 on x86-64. Use a newer machine; " +
  "for a virtual one, choose a CPU model with AVX2, such as the host's own. See docs/compatibility.md.";

function ownFile(name) {
  return fileURLToPath(new URL(name, import.meta.url));
}

function inPackage(name, path) {
  try {
    return join(dirname(require.resolve(`${name}/package.json`)), path);
  } catch {
    return undefined;
  }
}
