import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageFile from "../package.json" with { type: "json" };
import lock from "../package-lock.json" with { type: "json" };
import { shippedPackages } from "./supply-chain.js";

export interface BunPackage {
  readonly name: string;
  readonly version: string;
  /** Of the package, as a lock file has it. */
  readonly integrity: string;
  readonly binary: string;
}

const version = packageFile.optionalDependencies["@oven/bun-linux-x64"];
const cache = join(import.meta.dir, "../node_modules/.cache/plant-store-build");
const pinned = (name: string) => shippedPackages(lock).find((entry) => entry.name === name)?.integrity;

/** The Bun that runs this script. */
export function ownBun(): BunPackage {
  const name = /@oven\/bun-[\w-]+/.exec(process.execPath.replaceAll("\\", "/"))?.[0] ?? "";
  const integrity = pinned(name);
  if (integrity === undefined) throw new Error(`${process.execPath} is not the Bun that npm installed.`);
  return { name, version, integrity, binary: process.execPath };
}

/** Bun for another platform, from npm like every other dependency; Bun's own download would bypass npm's settings. */
export function fetchBun(platform: string): BunPackage {
  const name = `@oven/${platform}`;
  const folder = join(cache, `${platform}-${version}`);
  const binary = join(folder, "package/bin", platform.includes("windows") ? "bun.exe" : "bun");
  const integrityFile = join(folder, "integrity");
  // Written last, so a download that was interrupted is repeated.
  if (!existsSync(integrityFile)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const packed = JSON.parse(run("npm", ["pack", `${name}@${version}`, "--json"], folder));
    const [{ filename, integrity }] = Array.isArray(packed) ? packed : Object.values(packed);
    if (integrity !== (pinned(name) ?? integrity))
      throw new Error(`${name} ${version} is not what package-lock.json pins.`);
    run("tar", ["-xzf", filename], folder);
    rmSync(join(folder, filename));
    writeFileSync(integrityFile, integrity);
  }
  return { name, version, integrity: readFileSync(integrityFile, "utf8"), binary };
}

function run(command: string, args: readonly string[], folder: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${stderr}`);
  return stdout;
}
