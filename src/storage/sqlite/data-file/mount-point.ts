import { readFileSync } from "node:fs";
import { Problem } from "../../../system/problem.ts";

const mountTable = "/proc/self/mountinfo";

/**
 * A file that is mounted by itself, such as a bind mount or the `subPath` of a file in Kubernetes, is on another file system than
 * what SQLite puts beside it.
 * @throws Problem
 */
export function refuseMountPoint(path: string): void {
  if (!isMountPoint(path)) return;
  throw new Problem(
    `${path} is mounted by itself: its WAL would not be on that volume, and acknowledged plants would be lost with the container. Mount the folder that it is in. To read it, or to restore from it, is safe.`,
  );
}

function isMountPoint(path: string): boolean {
  try {
    const lines = readFileSync(mountTable, "utf8").split("\n");
    return lines.some((line) => unescapeOctal(line.split(" ")[4] ?? "") === path);
  } catch {
    // Only Linux has this table.
    return false;
  }
}

/** Spaces, tabs, line feeds and backslashes are octal numbers. */
function unescapeOctal(field: string): string {
  return field.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
