import type { Database } from "bun:sqlite";
import type { AuditEntry, AuditFilter, AuditPage, AuditTrail } from "../../access/audit.ts";
import {
  auditColumns,
  auditValues,
  entriesOfEachKindMax,
  entriesPerRemoval,
  removalStatements,
} from "../audit-rows.ts";
import type { Writer } from "./writing/writer.ts";

// How many entries of each kind are kept, and after how many new ones the oldest are removed.
const limitsDefault = { ofEachKindMax: entriesOfEachKindMax, perRemoval: entriesPerRemoval };

/** The audit trail in SQLite. */
export class SqliteAudit implements AuditTrail {
  readonly #database: Database;
  readonly #readPage: AuditTrail["page"];
  readonly #writer: Writer;
  readonly #limits: typeof limitsDefault;
  #inserted = 0;

  /** `readPage` reads on this thread or another. */
  constructor(database: Database, readPage: AuditTrail["page"], writer: Writer, limits = limitsDefault) {
    this.#database = database;
    this.#readPage = readPage;
    this.#writer = writer;
    this.#limits = limits;
  }

  async record(entry: AuditEntry): Promise<void> {
    await this.#writer.transaction(() => this.insert(entry));
  }

  /** Inserts an entry, inside the transaction of the caller. */
  insert(entry: AuditEntry): void {
    this.#database
      .query(`INSERT INTO audit_trail (${auditColumns}) VALUES (?, ?, ?, ?, ?, ?)`)
      .run(...auditValues(entry));
    const { ofEachKindMax, perRemoval } = this.#limits;
    if (this.#inserted % perRemoval === 0)
      for (const statement of removalStatements("seq", ofEachKindMax)) this.#database.run(statement);
    this.#inserted++;
  }

  page(limit: number, cursor: string | undefined, filter?: AuditFilter): Promise<AuditPage> {
    return this.#readPage(limit, cursor, filter);
  }
}
