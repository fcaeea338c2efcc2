import type { Database } from "bun:sqlite";
import {
  type AuditEntry,
  type AuditPage,
  type AuditTrail,
  auditRowsMax,
  auditRowsTrimmed,
  trimEntry,
} from "../../access/audit.ts";
import { CursorProblem } from "../../plants/plant-archive.ts";
import { auditColumns, auditPage, auditValues, removalOrder } from "../audit-rows.ts";
import type { SyncedRead } from "./reading/synced-reads.ts";
import type { Writer } from "./writing/writer.ts";

const cursorShape = /^\d{1,15}$/;

/** The audit trail in SQLite. */
export class SqliteAudit implements AuditTrail {
  readonly #database: Database;
  readonly #synced: SyncedRead;
  readonly #writer: Writer | undefined;

  /** Without a writer, read-only. */
  constructor(database: Database, synced: SyncedRead, writer?: Writer) {
    this.#database = database;
    this.#synced = synced;
    this.#writer = writer;
  }

  async record(entry: AuditEntry): Promise<void> {
    if (this.#writer === undefined) throw new Error("this audit trail was opened for reading");
    await this.#writer.transaction(() => this.insert(entry));
  }

  /** To be called inside the caller's transaction. */
  insert(entry: AuditEntry): void {
    this.#insertOne(entry);
    // The first and last key are quick to find and bound the number of rows; only a long trail is counted.
    const ends = this.#database.query<{ first: bigint; last: bigint }, []>(
      "SELECT (SELECT min(seq) FROM audit_trail) AS first, (SELECT max(seq) FROM audit_trail) AS last",
    );
    const { first, last } = ends.get() ?? { first: 0n, last: 0n };
    if (last - first < BigInt(auditRowsMax)) return;
    const counted = this.#database.query<{ count: bigint }, []>("SELECT count(*) AS count FROM audit_trail");
    if ((counted.get()?.count ?? 0n) <= BigInt(auditRowsMax)) return;
    this.#database.run(
      `DELETE FROM audit_trail
        WHERE seq IN (SELECT seq FROM audit_trail ORDER BY ${removalOrder}, seq LIMIT ${auditRowsTrimmed})`,
    );
    this.#insertOne(trimEntry(entry.atMs));
  }

  async page(limit: number, cursor: string | undefined): Promise<AuditPage> {
    if (cursor !== undefined && !cursorShape.test(cursor))
      throw new CursorProblem("The cursor is not from a page of this audit trail.");
    const sql = `SELECT seq, ${auditColumns} FROM audit_trail WHERE seq < ? ORDER BY seq DESC LIMIT ?`;
    const before = BigInt(cursor ?? Number.MAX_SAFE_INTEGER);
    const rows = await this.#synced(() => this.#database.query(sql).values(before, limit + 1));
    return auditPage(rows, limit);
  }

  #insertOne(entry: AuditEntry): void {
    this.#database
      .query(`INSERT INTO audit_trail (${auditColumns}) VALUES (?, ?, ?, ?, ?, ?)`)
      .run(...auditValues(entry));
  }
}
