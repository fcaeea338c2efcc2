// The rows of the audit trail: both engines have the same columns. The reader thread loads this, and nothing of tokens.
import type { AuditAction, AuditEntry, AuditFilter, AuditPage } from "../access/audit.ts";
import { CursorProblem } from "../plants/plant-archive.ts";

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

/** The statements that remove the oldest entries beyond the limit: changes of tokens, and all others. */
export function removalStatements(key: "seq" | "id", entriesMax = entriesOfEachKindMax): string[] {
  return ["LIKE", "NOT LIKE"].map(
    (like) =>
      `DELETE FROM audit_trail WHERE action ${like} 'token.%' AND ${key} <=
         (SELECT ${key} FROM audit_trail WHERE action ${like} 'token.%'
           ORDER BY ${key} DESC LIMIT 1 OFFSET ${entriesMax})`,
  );
}

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
