import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes SHA256SUMS for our files in a folder, in the form that `sha256sum --check` reads. */
export function writeChecksums(folder: string): void {
  const lines = readdirSync(folder)
    .filter((file) => file.startsWith("plant-store"))
    .sort()
    .map((file) => `${sha256(join(folder, file))}  ${file}\n`);
  writeFileSync(join(folder, "SHA256SUMS"), lines.join(""));
}

/** The SHA-256 of a file, in hex. */
export function sha256(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
