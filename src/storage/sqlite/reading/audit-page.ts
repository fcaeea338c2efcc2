import type { Database } from "bun:sqlite";
import type { AuditFilter, AuditPage, AuditTrail } from "../../../access/audit.ts";
import { auditColumns, auditCursorProblem, auditFilterValues, auditPage } from "../../audit-rows.ts";
import type { SyncedRead } from "./synced-reads.ts";

const cursorShape = /^\d{1,15}$/;

const selectPage = `
  SELECT seq, ${auditColumns} FROM audit_trail
  WHERE seq < ?1
    AND (?3 IS NULL OR action = ?3)
    AND (?4 IS NULL OR actor = ?4)
    AND (?5 IS NULL OR at_ms >= ?5)
    AND (?6 IS NULL OR at_ms < ?6)
  ORDER BY seq DESC LIMIT ?2`;

/**
 * A page of the audit trail. A filter that few entries match reads all of them, up to 200,000, and blocks its thread meanwhile:
 * the service calls it on the reader thread.
 * @throws CursorProblem
 */
export function readAuditPage(
  database: Database,
  limit: number,
  cursor: string | undefined,
  filter: AuditFilter = {},
): AuditPage {
  if (cursor !== undefined && !cursorShape.test(cursor)) throw auditCursorProblem();
  const before = BigInt(cursor ?? Number.MAX_SAFE_INTEGER);
  const values = [before, limit + 1, ...auditFilterValues(filter)];
  return auditPage(database.query(selectPage).values(...values), limit);
}

/** Reads pages on this thread, for processes other than the service. */
export function syncedAuditPages(database: Database, synced: SyncedRead): AuditTrail["page"] {
  return (...request) => synced(() => readAuditPage(database, ...request));
}
