// The SHA-256 of a backup, and the file beside it that has it.
import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { fileSize } from "../data-file/durable-files.ts";
import { type SharedProgress, setProgress } from "./progress.ts";

// A SHA-256 and the longest path.
const checksumFileBytesMax = 4200;

/** Where the checksum of a file is, in the form of sha256sum. */
export function checksumFile(path: string): string {
  return `${path}.sha256`;
}

/** The SHA-256 in its checksum file; undefined if there is none. */
export function expectedChecksum(path: string): string | undefined {
  return readChecksumFile(path)?.split(/\s/)[0];
}

/** Whether its checksum file is one that a backup of this name has written. */
export function isChecksumOfBackup(backup: string): boolean {
  const text = readChecksumFile(backup) ?? "";
  return /^[0-9a-f]{64} {2}/.test(text) && text.slice(66) === `${basename(backup)}\n`;
}

/** The SHA-256 of a file. It must not be a database that this process has open: closing it would drop SQLite's locks on it. */
export async function computeChecksum(path: string, progress: SharedProgress): Promise<string> {
  const hash = createHash("sha256");
  const totalBytes = fileSize(path);
  let readBytes = 0;
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk);
    readBytes += chunk.length;
    setProgress(progress, readBytes, totalBytes);
  }
  return hash.digest("hex");
}

/** The text of its checksum file; empty if that is not a small regular file: it could be a pipe or a device. */
function readChecksumFile(path: string): string | undefined {
  const found = statSync(checksumFile(path), { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  const isSmall = found.isFile() && found.size <= checksumFileBytesMax;
  return isSmall ? readFileSync(checksumFile(path), "utf8") : "";
}
