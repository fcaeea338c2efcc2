import { randomBytes } from "node:crypto";
import {
  type AuditEntry,
  type AuditPage,
  type AuditTrail,
  auditRowsMax,
  auditRowsTrimmed,
  trimEntry,
} from "../../access/audit.ts";
import { CursorProblem } from "../../plants/plant-archive.ts";
import { auditColumns, auditPage, auditValues } from "../audit-rows.ts";
import type { Row, Statement } from "./connection.ts";
import type { Connections } from "./connections.ts";
import { readFailure } from "./faults.ts";

const auditMsMax = 2000;
const idShape = /^[0-9a-f]{32,33}$/;
const afterEveryId = "g";

const selectPage = {
  name: "audit-page",
  text: `SELECT id, ${auditColumns} FROM audit_trail WHERE id < $1 ORDER BY id DESC LIMIT $2`,
};

/** The values of `insertEntry`. */
export function entryValues(entry: AuditEntry): unknown[] {
  const id = idOf(entry.atMs);
  // A longer text is sorted after one that it begins with.
  return [id, ...auditValues(entry), `${id}f`, ...auditValues(trimEntry(entry.atMs))];
}

/**
 * The common table expressions of a statement that also inserts an entry: one statement is one transaction. A retry finds the id that
 * the first attempt stored. `from` adds the entry only where it has a row; `first` is the number of the first value.
 */
export function insertEntry(first: number, from = ""): string {
  const row = (at: number) =>
    ["text", "bigint", "text", "text", "text", "text", "text"]
      .map((type, index) => `$${at + index}::${type}`)
      .join(", ");
  return `trimmed AS (
      DELETE FROM audit_trail
       WHERE (SELECT count(*) FROM audit_trail) >= ${auditRowsMax}
         AND id IN (SELECT id FROM audit_trail ORDER BY id LIMIT ${auditRowsTrimmed})
      RETURNING id),
    entry AS (
      INSERT INTO audit_trail (id, ${auditColumns})
      SELECT ${row(first)} ${from} ON CONFLICT (id) DO NOTHING),
    trim_entry AS (
      INSERT INTO audit_trail (id, ${auditColumns})
      SELECT ${row(first + 7)} WHERE EXISTS (SELECT 1 FROM trimmed) ON CONFLICT (id) DO NOTHING)`;
}

/** The audit trail in PostgreSQL, one for all nodes. */
export class PostgresAudit implements AuditTrail {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  async record(entry: AuditEntry): Promise<void> {
    await this.#run({ text: `WITH ${insertEntry(1)} SELECT 1` }, entryValues(entry));
  }

  async page(limit: number, cursor: string | undefined): Promise<AuditPage> {
    if (cursor !== undefined && !idShape.test(cursor))
      throw new CursorProblem("The cursor is not from a page of this audit trail.");
    return auditPage(await this.#run(selectPage, [cursor ?? afterEveryId, limit + 1]), limit);
  }

  async #run(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    try {
      return await this.#connections.use(auditMsMax, (run) => run(statement, values));
    } catch (error) {
      throw readFailure(error);
    }
  }
}

// Without a sequence, which distributed engines do not order. The time since the process started orders entries of the same
// millisecond, and random bits tell nodes apart.
function idOf(atMs: number): string {
  const hex = (value: number, digits: number) => Math.floor(value).toString(16).padStart(digits, "0");
  return hex(atMs, 12) + hex(performance.now() * 1000, 12) + randomBytes(4).toString("hex");
}
