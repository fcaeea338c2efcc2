import { randomBytes } from "node:crypto";
import type { AuditEntry, AuditFilter, AuditPage, AuditTrail } from "../../access/audit.ts";
import {
  auditColumns,
  auditCursorProblem,
  auditFilterValues,
  auditPage,
  auditValues,
  entriesPerRemoval,
  removalStatements,
} from "../audit-rows.ts";
import type { ConnectionPool } from "./connection-pool.ts";

const idShape = /^[0-9a-f]{32}$/;
const afterEveryId = "g";

const selectPage = {
  name: "audit-page",
  text: `SELECT id, ${auditColumns} FROM audit_trail
         WHERE id < $1
           AND ($3::text IS NULL OR action = $3::text)
           AND ($4::text IS NULL OR actor = $4::text)
           AND ($5::bigint IS NULL OR at_ms >= $5::bigint)
           AND ($6::bigint IS NULL OR at_ms < $6::bigint)
         ORDER BY id DESC LIMIT $2`,
};
/** Returns no row if this is a retry, and the first attempt stored the entry. */
export const insertEntry = {
  text: `INSERT INTO audit_trail (id, ${auditColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (id) DO NOTHING RETURNING 1`,
};

/** The audit trail in PostgreSQL, one for all nodes. */
export class PostgresAudit implements AuditTrail {
  readonly #pool: ConnectionPool;
  #inserted = 0;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  async record(entry: AuditEntry): Promise<void> {
    await this.#pool.query(insertEntry, entryValues(entry));
    await this.trim();
  }

  /**
   * Removes the oldest entries now and then; to be called after each entry. It is a statement of its own, since some engines let
   * one change a table only once. If it fails, a later one removes more.
   */
  async trim(): Promise<void> {
    const isDue = this.#inserted % entriesPerRemoval === 0;
    this.#inserted++;
    if (!isDue) return;
    for (const text of removalStatements("id")) await this.#pool.query({ text }).catch(() => {});
  }

  async page(limit: number, cursor: string | undefined, filter: AuditFilter = {}): Promise<AuditPage> {
    if (cursor !== undefined && !idShape.test(cursor)) throw auditCursorProblem();
    const values = [cursor ?? afterEveryId, limit + 1, ...auditFilterValues(filter)];
    return auditPage(await this.#pool.query(selectPage, values), limit);
  }
}

/** The values of `insertEntry`. */
export function entryValues(entry: AuditEntry): unknown[] {
  return [newEntryId(entry.atMs), ...auditValues(entry)];
}

/**
 * The id is not from a sequence, which distributed engines do not order. The time since the process started orders entries of
 * the same millisecond, and random bits tell nodes apart.
 */
function newEntryId(atMs: number): string {
  const hex = (value: number, digits: number) => Math.floor(value).toString(16).padStart(digits, "0");
  return hex(atMs, 12) + hex(performance.now() * 1000, 12) + randomBytes(4).toString("hex");
}
