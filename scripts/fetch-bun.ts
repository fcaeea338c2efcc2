import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import lock from "../package-lock.json" with { type: "json" };
import { outputOf } from "./processes.js";
import { shippedPackages } from "./supply-chain.js";

export interface BunPackage {
  readonly name: string;
  readonly binary: string;
}

const cache = join(import.meta.dir, "../node_modules/.cache/plant-store-build");

/** The Bun that runs this script. */
export function ownBun(): BunPackage {
  const name = /@oven\/bun-[\w-]+/.exec(process.execPath)?.[0] ?? "";
  if (pinned(name) === undefined)
    throw new Error(`${process.execPath} is not the Bun that package-lock.json pins.`);
  return { name, binary: process.execPath };
}

/** Bun for another platform, from npm like every other dependency; Bun's own download would bypass npm's settings. */
export function fetchBun(name: string): BunPackage {
  const { version, integrity } = pinned(name) ?? {};
  const folder = join(cache, `${name}-${version}`);
  const completeFile = join(folder, "complete");
  // Written last, so a download that was interrupted is repeated.
  if (!existsSync(completeFile)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const packed = JSON.parse(outputOf("npm", ["pack", `${name}@${version}`, "--json"], folder));
    const [archive] = Array.isArray(packed) ? packed : Object.values(packed);
    if (archive.integrity !== integrity)
      throw new Error(`${name} ${version} is not what package-lock.json pins.`);
    outputOf("tar", ["-xzf", archive.filename], folder);
    rmSync(join(folder, archive.filename));
    writeFileSync(completeFile, "");
  }
  return { name, binary: join(folder, "package/bin/bun") };
}

function pinned(name: string) {
  return shippedPackages(lock).find((entry) => entry.name === name);
}
