import { statSync } from "node:fs";
import { platform } from "node:os";
import { dirname } from "node:path";
import { withoutPassword } from "../config/database.ts";
import { type ConfigSources, secretFiles } from "../config/read-config.ts";
import type { Secret } from "../config/settings.ts";

// Permissions of users who are neither the owner nor in the group.
const others = { readOrWrite: 0o006, enter: 0o001 };

/**
 * A warning for each password in a flag, and for each file that any user of the machine can read or write, of those that hold
 * these secrets and of the other paths.
 */
export function exposureWarnings(
  { flags, environment }: ConfigSources,
  secrets: readonly Secret[],
  paths: readonly string[] = [],
): string[] {
  const inFlags = ["database", "from", "to"].flatMap((name) => {
    const database = flags[name];
    if (database === undefined || withoutPassword(database) === database) return [];
    return `every user of this machine can read the password in --${name}; use PLANT_STORE_DATABASE_PASSWORD_FILE`;
  });
  // On Windows a mode says nothing about other users.
  const files = platform() === "win32" ? [] : [...secretFiles(secrets, environment), ...paths];
  return [...inFlags, ...files.flatMap(exposureOf)];
}

function exposureOf(path: string): string[] {
  const mode = modeOf(path);
  const isReachable = (modeOf(dirname(path)) & others.enter) !== 0;
  if ((mode & others.readOrWrite) === 0 || !isReachable) return [];
  return [`other users can read or write ${path}, which has mode ${mode.toString(8)}; run chmod 600 on it`];
}

/** The target's mode, if the path is a link. A file that cannot be reached from here is not exposed by its mode. */
function modeOf(path: string): number {
  try {
    return statSync(path).mode & 0o777;
  } catch {
    return 0;
  }
}
