import { statSync } from "node:fs";
import { userInfo } from "node:os";

/** Who does something, and from where. */
export interface Origin {
  /** The name of a token, `oidc:` and the name of a caller, or `os:` and the user who runs a command. */
  readonly actor: string;
  /** Of the peer; undefined on the command line. */
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

/** The name, or what stands for it: in a container, and under cron, Bun often has none. */
export function localUser(): string {
  try {
    const { username, uid } = userInfo();
    return username === "unknown" ? `uid-${uid}` : username;
  } catch {
    // Without HOME and a passwd entry, as under systemd's DynamicUser=. What follows is Linux's.
    const uid = statSync("/proc/self", { throwIfNoEntry: false })?.uid;
    return uid === undefined ? "unknown" : `uid-${uid}`;
  }
}
