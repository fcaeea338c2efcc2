import type { Database } from "bun:sqlite";
import type { AuditEntry, AuditFilter, AuditPage, AuditTrail } from "../../access/audit.ts";
import { CursorProblem } from "../../plants/plant-archive.ts";
import {
  auditColumns,
  auditFilterValues,
  auditPage,
  auditValues,
  entriesPerRemoval,
  removeOldest,
} from "../access-rows.ts";
import type { SyncedRead } from "./reading/synced-reads.ts";
import type { Writer } from "./writing/writer.ts";

const cursorShape = /^\d{1,15}$/;

const selectPage = `
  SELECT seq, ${auditColumns} FROM audit_trail
  WHERE seq < ?1
    AND (?3 IS NULL OR action = ?3)
    AND (?4 IS NULL OR actor = ?4)
    AND (?5 IS NULL OR at_ms >= ?5)
    AND (?6 IS NULL OR at_ms < ?6)
  ORDER BY seq DESC LIMIT ?2`;

/** The audit trail in SQLite. */
export class SqliteAudit implements AuditTrail {
  readonly #database: Database;
  readonly #synced: SyncedRead;
  readonly #writer: Writer | undefined;
  #inserted = 0;

  /** Without a writer, it can only be read. */
  constructor(database: Database, synced: SyncedRead, writer?: Writer) {
    this.#database = database;
    this.#synced = synced;
    this.#writer = writer;
  }

  async record(entry: AuditEntry): Promise<void> {
    if (this.#writer === undefined) throw new Error("this audit trail was opened for reading");
    await this.#writer.transaction(() => this.insert(entry));
  }

  /** Inserts an entry, inside the transaction of the caller. */
  insert(entry: AuditEntry): void {
    this.#database
      .query(`INSERT INTO audit_trail (${auditColumns}) VALUES (?, ?, ?, ?, ?, ?)`)
      .run(...auditValues(entry));
    if (this.#inserted % entriesPerRemoval === 0)
      for (const statement of removeOldest("seq")) this.#database.run(statement);
    this.#inserted++;
  }

  async page(limit: number, cursor: string | undefined, filter: AuditFilter = {}): Promise<AuditPage> {
    if (cursor !== undefined && !cursorShape.test(cursor))
      throw new CursorProblem("The cursor is not from a page of this audit trail.");
    const before = BigInt(cursor ?? Number.MAX_SAFE_INTEGER);
    const values = [before, limit + 1, ...auditFilterValues(filter)];
    const rows = await this.#synced(() => this.#database.query(selectPage).values(...values));
    return auditPage(rows, limit);
  }
}
