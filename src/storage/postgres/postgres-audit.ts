import { randomBytes } from "node:crypto";
import type { AuditEntry, AuditPage, AuditTrail } from "../../access/audit.ts";
import { CursorProblem } from "../../plants/plant-archive.ts";
import { auditColumns, auditPage, auditValues, entriesPerRemoval, removeOldest } from "../audit-rows.ts";
import { placeholders } from "./connection.ts";
import type { Connections } from "./connections.ts";

const auditMsMax = 2000;
const idShape = /^[0-9a-f]{32}$/;
const afterEveryId = "g";

const selectPage = {
  name: "audit-page",
  text: `SELECT id, ${auditColumns} FROM audit_trail WHERE id < $1 ORDER BY id DESC LIMIT $2`,
};
const insertOne = { text: `WITH ${insertEntry(1)} SELECT 1` };

/** The values of `insertEntry`. */
export function entryValues(entry: AuditEntry): unknown[] {
  return [idOf(entry.atMs), ...auditValues(entry)];
}

/**
 * The common table expression of a statement that also inserts an entry: one statement is one transaction. A retry finds the id
 * that the first attempt stored. `from` adds the entry only where it has a row; `first` is the number of the first value.
 */
export function insertEntry(first: number, from = ""): string {
  const types = ["text", "bigint", "text", "text", "text", "text", "text"];
  return `entry AS (
      INSERT INTO audit_trail (id, ${auditColumns})
      SELECT ${placeholders(types, first)} ${from} ON CONFLICT (id) DO NOTHING)`;
}

/** The audit trail in PostgreSQL, one for all nodes. */
export class PostgresAudit implements AuditTrail {
  readonly #connections: Connections;
  #inserted = 0;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  async record(entry: AuditEntry): Promise<void> {
    await this.#connections.query(auditMsMax, insertOne, entryValues(entry));
    await this.trim();
  }

  /**
   * Called after each entry. A statement of its own, since some engines let one change a table only once; if it fails, a later
   * one removes more.
   */
  async trim(): Promise<void> {
    if (this.#inserted++ % entriesPerRemoval !== 0) return;
    for (const text of removeOldest("id"))
      await this.#connections.query(auditMsMax, { text }, []).catch(() => {});
  }

  async page(limit: number, cursor: string | undefined): Promise<AuditPage> {
    if (cursor !== undefined && !idShape.test(cursor))
      throw new CursorProblem("The cursor is not from a page of this audit trail.");
    const values = [cursor ?? afterEveryId, limit + 1];
    return auditPage(await this.#connections.query(auditMsMax, selectPage, values), limit);
  }
}

// Without a sequence, which distributed engines do not order. The time since the process started orders entries of the same
// millisecond, and random bits tell nodes apart.
function idOf(atMs: number): string {
  const hex = (value: number, digits: number) => Math.floor(value).toString(16).padStart(digits, "0");
  return hex(atMs, 12) + hex(performance.now() * 1000, 12) + randomBytes(4).toString("hex");
}
