import type { AuditAction, AuditEntry, AuditPage } from "../access/audit.ts";

/** The columns of the table audit_trail besides its key, in the order of `auditValues` and `auditPage`. */
export const auditColumns = "at_ms, actor, action, subject, address, detail";

/** Entries are removed in this order, then by key, so that a flood of others cannot push out those of tokens. */
export const removalOrder = "CASE WHEN action LIKE 'token.%' THEN 1 ELSE 0 END";

export function auditValues(entry: AuditEntry): (string | number | null)[] {
  const { atMs, actor, action, subject, address, detail } = entry;
  return [atMs, actor, action, subject, address ?? null, detail];
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
