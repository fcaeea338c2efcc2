import { createHash } from "node:crypto";
import { createReadStream, existsSync, readFileSync } from "node:fs";

/** Where the checksum of a file is, in the form of sha256sum. */
export function checksumFile(path: string): string {
  return `${path}.sha256`;
}

/** The SHA-256 in its checksum file; undefined if there is none. */
export function expectedChecksum(path: string): string | undefined {
  if (!existsSync(checksumFile(path))) return undefined;
  return readFileSync(checksumFile(path), "utf8").split(/\s/)[0];
}

/** Not for a database that this process has open: closing the file would drop SQLite's locks on it. */
export async function checksum(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}
