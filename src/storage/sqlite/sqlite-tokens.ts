import type { Database } from "bun:sqlite";
import type { AuditEntry } from "../../access/audit.ts";
import type { Token, TokenStore, TokenUse } from "../../access/tokens.ts";
import { nameInUseProblem, notLiveProblem, tokenColumns, tokenFrom, tokenValues } from "../access-rows.ts";
import { readPragma } from "./connect.ts";
import type { SyncedRead } from "./reading/synced-reads.ts";
import type { SqliteAudit } from "./sqlite-audit.ts";
import type { Writer } from "./writing/writer.ts";

/** What writing tokens needs. */
export interface TokenWriting {
  readonly writer: Writer;
  readonly audit: SqliteAudit;
}

/** Tokens in SQLite, together with the plants, so that one file is the entire store. */
export class SqliteTokens implements TokenStore {
  readonly #database: Database;
  readonly #synced: SyncedRead;
  readonly #writing: TokenWriting | undefined;

  /** Without `writing`, read-only. */
  constructor(database: Database, synced: SyncedRead, writing?: TokenWriting) {
    this.#database = database;
    this.#synced = synced;
    this.#writing = writing;
  }

  async all(): Promise<Token[]> {
    const sql = `SELECT ${tokenColumns} FROM tokens ORDER BY created_at_ms, rowid`;
    const rows = await this.#synced(() => this.#database.query(sql).values());
    return rows.map(tokenFrom);
  }

  async add(token: Token, entry: AuditEntry): Promise<void> {
    // Thrown after the transaction, since a failure inside it stops the store.
    const added = await this.#write((audit) => {
      if (this.#isNameInUse(token.name, token.createdAtMs)) return false;
      this.#insert(token);
      audit.insert(entry);
      return true;
    });
    if (!added) throw nameInUseProblem(token);
  }

  async addReplacement(token: Token, entry: AuditEntry, replaced: readonly Token[]): Promise<void> {
    const added = await this.#write((audit) => {
      if (!replaced.every(({ digest }) => this.#isLive(digest, token.createdAtMs))) return false;
      this.#insert(token);
      this.#update(replaced);
      audit.insert(entry);
      return true;
    });
    if (!added) throw notLiveProblem(token);
  }

  async addCopy(token: Token, entry: AuditEntry): Promise<void> {
    await this.#write((audit) => {
      this.#insert(token);
      audit.insert(entry);
    });
  }

  async addFirst(token: Token, entry: AuditEntry): Promise<void> {
    await this.#write((audit) => {
      if (this.#database.query("SELECT 1 FROM tokens LIMIT 1").get() !== null) return;
      this.#insert(token);
      audit.insert(entry);
    });
  }

  async change(tokens: readonly Token[], entry: AuditEntry): Promise<void> {
    await this.#write((audit) => {
      this.#update(tokens);
      audit.insert(entry);
    });
  }

  async recordUses(uses: readonly TokenUse[]): Promise<void> {
    // SQLite's max() is NULL if any argument is.
    const update = this.#database.query(
      "UPDATE tokens SET last_used_at_ms = max(coalesce(last_used_at_ms, 0), ?) WHERE digest = ?",
    );
    await this.#write(() => {
      for (const { digest, atMs } of uses) update.run(atMs, digest);
    });
  }

  async version(): Promise<string> {
    return String(readPragma(this.#database, "data_version"));
  }

  async #write<Result>(work: (audit: SqliteAudit) => Result): Promise<Result> {
    const writing = this.#writing;
    if (writing === undefined) throw new Error("these tokens were opened for reading");
    return await writing.writer.transaction(() => work(writing.audit));
  }

  #isNameInUse(name: string, nowMs: number): boolean {
    const live = this.#database.query(
      "SELECT 1 FROM tokens WHERE name = ? AND revoked_at_ms IS NULL AND coalesce(expires_at_ms > ?, 1)",
    );
    return live.get(name, nowMs) !== null;
  }

  #isLive(digest: string, nowMs: number): boolean {
    const live = this.#database.query(
      "SELECT 1 FROM tokens WHERE digest = ? AND revoked_at_ms IS NULL AND coalesce(expires_at_ms > ?, 1)",
    );
    return live.get(digest, nowMs) !== null;
  }

  #insert(token: Token): void {
    this.#database
      .query(`INSERT INTO tokens (${tokenColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
      .run(...tokenValues(token));
  }

  #update(tokens: readonly Token[]): void {
    const update = this.#database.query(
      `UPDATE tokens SET expires_at_ms = min(coalesce(expires_at_ms, ?1), coalesce(?1, expires_at_ms)),
                         revoked_at_ms = coalesce(revoked_at_ms, ?2) WHERE digest = ?3`,
    );
    for (const token of tokens)
      update.run(token.expiresAtMs ?? null, token.revokedAtMs ?? null, token.digest);
  }
}
