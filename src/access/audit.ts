import { readFileSync, statSync } from "node:fs";
import { userInfo } from "node:os";

/** Who does something, and from where. */
export interface Origin {
  /** The name of a token, `oidc:` and the name of a caller, or `os:` and the user whose uid a command has. */
  readonly actor: string;
  /** The address of the other end of the connection; undefined on the command line. */
  readonly address: string | undefined;
}

export type AuditAction =
  | "token.created"
  | "token.rotated"
  | "token.revoked"
  | "token.copied"
  | "console.signed-in"
  | "export.started"
  | "follow.started"
  | "import.started"
  | "import.finished"
  | "backup.created"
  | "backup.verified"
  | "backup.downloaded";

export interface AuditEntry extends Origin {
  readonly atMs: number;
  readonly action: AuditAction;
  /** What it was done to, such as the name of a token. */
  readonly subject: string;
  /** One line for people, without secrets. */
  readonly detail: string;
}

export interface AuditPage {
  /** Newest first. */
  readonly entries: readonly AuditEntry[];
  /** The cursor of the next page; undefined at the end. */
  readonly next: string | undefined;
}

/** Stores who did what. No entry is ever changed. The newest changes of tokens and the newest other entries are kept. */
export interface AuditTrail {
  /** Resolves once the entry is durable. What it records must not happen if it rejects. */
  record(entry: AuditEntry): Promise<void>;
  /** @throws CursorProblem no page returned this cursor. */
  page(limit: number, cursor: string | undefined): Promise<AuditPage>;
}

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
function processUid(): number | undefined {
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
