// The rows of tokens and of the audit trail: both engines have the same columns.
import type { AuditAction, AuditEntry, AuditFilter, AuditPage } from "../access/audit.ts";
import { isScope } from "../access/scopes.ts";
import { type Token, TokenProblem } from "../access/tokens.ts";
import { CursorProblem } from "../plants/plant-archive.ts";

/** The columns of the table tokens, in the order of `tokenValues` and `tokenFrom`. */
export const tokenColumns =
  "id, name, digest, scopes, created_at_ms, expires_at_ms, revoked_at_ms, created_by, last_used_at_ms";

export function tokenValues(token: Token): (string | number | null)[] {
  return [
    token.id,
    token.name,
    token.digest,
    token.scopes.join(" "),
    token.createdAtMs,
    token.expiresAtMs ?? null,
    token.revokedAtMs ?? null,
    token.createdBy,
    token.lastUsedAtMs ?? null,
  ];
}

export function tokenFrom(row: readonly unknown[]): Token {
  const [id, name, digest, scopes, createdAtMs, expiresAtMs, revokedAtMs, createdBy, lastUsedAtMs] = row;
  return {
    id: String(id),
    name: String(name),
    digest: String(digest),
    scopes: String(scopes).split(" ").filter(isScope),
    createdAtMs: Number(createdAtMs),
    expiresAtMs: numberFrom(expiresAtMs),
    revokedAtMs: numberFrom(revokedAtMs),
    createdBy: String(createdBy),
    lastUsedAtMs: numberFrom(lastUsedAtMs),
  };
}

/** The error for a token whose name a live one has. */
export function nameInUseProblem({ name }: Token): TokenProblem {
  return new TokenProblem(
    `A live token is already named "${name}"; rotate or revoke that one, or choose another name.`,
  );
}

/** The error for a token that would replace one that another request has ended since it was read. */
export function notLiveProblem({ name }: Token): TokenProblem {
  return new TokenProblem(
    `A token named "${name}" was revoked or has expired meanwhile; nothing was changed.`,
  );
}

/** The columns of the table audit_trail besides its key, in the order of `auditValues` and `auditPage`. */
export const auditColumns = "at_ms, actor, action, subject, address, detail";

/**
 * How many changes of tokens the audit trail keeps, and how many other entries. Changes of tokens have a limit of their own, so
 * that no flood of sign-ins or exports removes one.
 */
export const entriesOfEachKindMax = 100_000;

/**
 * The oldest are removed at the first entry of a process, and again after each 1,000, since finding them reads the whole trail.
 */
export const entriesPerRemoval = 1000;

export function auditValues(entry: AuditEntry): (string | number | null)[] {
  const { atMs, actor, action, subject, address, detail } = entry;
  return [atMs, actor, action, subject, address ?? null, detail];
}

/** The values of a filter in the order of both engines' statements; null for what does not matter. */
export function auditFilterValues(filter: AuditFilter): (string | number | null)[] {
  const { action, actor, sinceMs, untilMs } = filter;
  return [action ?? null, actor ?? null, sinceMs ?? null, untilMs ?? null];
}

/** The error for a cursor that no page of the audit trail has returned. */
export function auditCursorProblem(): CursorProblem {
  return new CursorProblem("The cursor is not from a page of this audit trail.");
}

/** The page of these rows, each with its key first. There is one more row than the limit if there is a next page. */
export function auditPage(rows: readonly (readonly unknown[])[], limit: number): AuditPage {
  const last = rows.length > limit ? rows[limit - 1]?.[0] : undefined;
  return {
    entries: rows.slice(0, limit).map(([, ...row]) => entryFrom(row)),
    next: last === undefined ? undefined : String(last),
  };
}

function entryFrom([atMs, actor, action, subject, address, detail]: readonly unknown[]): AuditEntry {
  return {
    atMs: Number(atMs),
    actor: String(actor),
    action: String(action) as AuditAction,
    subject: String(subject),
    address: address === null ? undefined : String(address),
    detail: String(detail),
  };
}

function numberFrom(value: unknown): number | undefined {
  return value === null ? undefined : Number(value);
}
