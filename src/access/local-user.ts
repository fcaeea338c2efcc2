import { readFileSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import type { Origin } from "./audit.ts";

/** The user who runs this process. */
export function localOrigin(): Origin {
  return { actor: `os:${localUser()}`, address: undefined };
}

/**
 * The name of the user whose uid this process has, or `uid-` and the uid if /etc/passwd has no such user, as in many containers.
 * Never the variable USER, which can say anything.
 */
export function localUser(): string {
  const uid = processUid();
  if (uid === undefined) return "unknown";
  // NAME:PASSWORD:UID:…
  const entries = readPasswd()
    .split("\n")
    .map((line) => line.split(":"));
  const entry = entries.find((fields) => fields[2] === String(uid));
  return entry?.[0] ?? `uid-${uid}`;
}

/** The uid of this process; undefined on Windows, which has none. */
export function processUid(): number | undefined {
  const onLinux = statSync("/proc/self", { throwIfNoEntry: false })?.uid;
  if (onLinux !== undefined) return onLinux;
  try {
    const { uid } = userInfo();
    return uid < 0 ? undefined : uid;
  } catch {
    // Bun looks for the home directory too, and there may be none.
    return undefined;
  }
}

function readPasswd(): string {
  try {
    return readFileSync("/etc/passwd", "utf8");
  } catch {
    return "";
  }
}
