import { auditLabels } from "../text/audit-labels.ts";
import { isoTime } from "../text/time.ts";

/** Who does something, and from where. */
export interface Origin {
  /** The name of a token, `oidc:` and the name of a caller, or `os:` and the user whose uid a command has. */
  readonly actor: string;
  /** The address of the client, as far as trusted proxies name it; undefined on the command line. */
  readonly address: string | undefined;
}

export type AuditAction = keyof typeof auditLabels;

export const auditActions = Object.keys(auditLabels) as AuditAction[];

export interface AuditEntry extends Origin {
  readonly atMs: number;
  readonly action: AuditAction;
  /** What it was done to, such as the name of a token. */
  readonly subject: string;
  /** One line for people, without secrets. */
  readonly detail: string;
}

/** An entry as the operator API and `--json` return it. JSON omits an address that is undefined. */
export type AuditEntryJson = ReturnType<typeof presentAuditEntry>;

export function presentAuditEntry({ atMs, actor, address, action, subject, detail }: AuditEntry) {
  return { at: isoTime(atMs), actor, address, action, subject, detail };
}

/** Which entries to list; what is undefined does not matter. */
export interface AuditFilter {
  readonly action?: AuditAction | undefined;
  readonly actor?: string | undefined;
  readonly sinceMs?: number | undefined;
  /** Exclusive: an entry of exactly this time does not match. */
  readonly untilMs?: number | undefined;
}

export interface AuditPage {
  /** The entries, the newest first. */
  readonly entries: readonly AuditEntry[];
  /** The cursor of the next page; undefined at the end. */
  readonly next: string | undefined;
}

/** Stores who did what. No entry is ever changed. The newest changes of tokens and the newest other entries are kept. */
export interface AuditTrail {
  /** Resolves once the entry is durable. What it records must not happen if it rejects. */
  record(entry: AuditEntry): Promise<void>;
  /** Rejects with the `CursorProblem` of `plants/plant-archive.ts` if no page returned this cursor. */
  page(limit: number, cursor: string | undefined, filter?: AuditFilter): Promise<AuditPage>;
}
