import { statSync } from "node:fs";
import { platform } from "node:os";
import { dirname } from "node:path";

// Permissions of users who are neither the owner nor in the group.
const others = { readOrWrite: 0o006, enter: 0o001 };

/** A warning for each of these files that any user of the machine can read or write. */
export function exposureWarnings(paths: readonly string[]): string[] {
  // On Windows a mode says nothing about other users.
  if (platform() === "win32") return [];
  return paths.flatMap((path) => {
    const mode = modeOf(path);
    const isReachable = (modeOf(dirname(path)) & others.enter) !== 0;
    if ((mode & others.readOrWrite) === 0 || !isReachable) return [];
    return `other users can read or write ${path}, which has mode ${mode.toString(8)}; run chmod 600 on it`;
  });
}

/** The target's mode, if the path is a link. A file that cannot be reached from here is not exposed by its mode. */
function modeOf(path: string): number {
  try {
    return statSync(path).mode & 0o777;
  } catch {
    return 0;
  }
}
