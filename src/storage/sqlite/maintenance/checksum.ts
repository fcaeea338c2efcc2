import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";

const chunkBytes = 1_048_576;

/** Where the checksum of a file is, in the form of sha256sum. */
export function checksumFile(path: string): string {
  return `${path}.sha256`;
}

/** The SHA-256 that the file beside it says; undefined where there is none. */
export function expectedChecksum(path: string): string | undefined {
  const file = checksumFile(path);
  return existsSync(file) ? (readFileSync(file, "utf8").split(/\s/)[0] ?? "") : undefined;
}

/** Not for a database that this process has open: closing the file would drop SQLite's locks on it. */
export async function checksum(path: string): Promise<string> {
  await using file = await open(path, "r");
  const hash = createHash("sha256");
  const chunk = Buffer.alloc(chunkBytes);
  for (;;) {
    const { bytesRead } = await file.read(chunk, 0, chunkBytes);
    if (bytesRead === 0) return hash.digest("hex");
    hash.update(chunk.subarray(0, bytesRead));
  }
}
