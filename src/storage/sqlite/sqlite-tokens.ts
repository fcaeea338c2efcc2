import type { Database } from "bun:sqlite";
import type { AuditEntry } from "../../access/audit.ts";
import type { Token } from "../../access/token.ts";
import type { TokenStore, TokenUse } from "../../access/tokens.ts";
import { nameInUseProblem, notLiveProblem, tokenColumns, tokenFrom, tokenValues } from "../token-rows.ts";
import { readPragma } from "./data-file/connect.ts";
import { realDataFile, refuseMissingFile } from "./data-file/data-file-path.ts";
import { syncWal } from "./data-file/durable-files.ts";
import { recordSyncFailure } from "./data-file/left-open.ts";
import { openBeside } from "./opening/open-for-writing.ts";
import { syncedAuditPages } from "./reading/audit-page.ts";
import { type SyncedRead, syncedReads } from "./reading/synced-reads.ts";
import { SqliteAudit } from "./sqlite-audit.ts";
import { Writer } from "./writing/writer.ts";

// Both select live tokens, at the time that is the second parameter.
const selectLiveByName = `
  SELECT 1 FROM tokens
   WHERE name = ? AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ?)`;
const selectLiveByDigest = `
  SELECT 1 FROM tokens
   WHERE digest = ? AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ?)`;

/** Tokens in SQLite, together with the plants, so that one file is the entire store. */
export class SqliteTokens implements TokenStore {
  readonly #database: Database;
  readonly #synced: SyncedRead;
  readonly #writer: Writer;
  readonly #audit: SqliteAudit;

  constructor(database: Database, synced: SyncedRead, writer: Writer, audit: SqliteAudit) {
    this.#database = database;
    this.#synced = synced;
    this.#writer = writer;
    this.#audit = audit;
  }

  all(): Promise<Token[]> {
    return readTokens(this.#database, this.#synced);
  }

  async add(token: Token, entry: AuditEntry): Promise<void> {
    // Thrown after the transaction, since a failure inside it stops the store.
    const isAdded = await this.#writer.transaction(() => {
      if (this.#isNameInUse(token.name, token.createdAtMs)) return false;
      this.#insert(token);
      this.#audit.insert(entry);
      return true;
    });
    if (!isAdded) throw nameInUseProblem(token);
  }

  async addReplacement(token: Token, entry: AuditEntry, replaced: readonly Token[]): Promise<void> {
    const isAdded = await this.#writer.transaction(() => {
      if (!replaced.every(({ digest }) => this.#isLive(digest, token.createdAtMs))) return false;
      this.#insert(token);
      this.#update(replaced);
      this.#audit.insert(entry);
      return true;
    });
    if (!isAdded) throw notLiveProblem(token);
  }

  async addCopy(token: Token, entry: AuditEntry): Promise<void> {
    await this.#writer.transaction(() => {
      this.#insert(token);
      this.#audit.insert(entry);
    });
  }

  async addFirst(token: Token, entry: AuditEntry): Promise<void> {
    await this.#writer.transaction(() => {
      if (this.#database.query("SELECT 1 FROM tokens LIMIT 1").get() !== null) return;
      this.#insert(token);
      this.#audit.insert(entry);
    });
  }

  async change(tokens: readonly Token[], entry: AuditEntry): Promise<void> {
    await this.#writer.transaction(() => {
      this.#update(tokens);
      this.#audit.insert(entry);
    });
  }

  async recordUses(uses: readonly TokenUse[]): Promise<void> {
    // SQLite's max() is NULL if any argument is.
    const update = this.#database.query(
      "UPDATE tokens SET last_used_at_ms = max(coalesce(last_used_at_ms, 0), ?) WHERE digest = ?",
    );
    await this.#writer.transaction(() => {
      for (const { digest, atMs } of uses) update.run(atMs, digest);
    });
  }

  async version(): Promise<string> {
    return String(readPragma(this.#database, "data_version"));
  }

  #isNameInUse(name: string, nowMs: number): boolean {
    return this.#database.query(selectLiveByName).get(name, nowMs) !== null;
  }

  #isLive(digest: string, nowMs: number): boolean {
    return this.#database.query(selectLiveByDigest).get(digest, nowMs) !== null;
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

/** Every token, oldest first, as `TokenStore.all` has them. A connection that only reads is enough. */
export async function readTokens(database: Database, synced: SyncedRead): Promise<Token[]> {
  const sql = `SELECT ${tokenColumns} FROM tokens ORDER BY created_at_ms, rowid`;
  const rows = await synced(() => database.query(sql).values());
  return rows.map(tokenFrom);
}

/** The tokens of a data file, for a command that may run alongside the service. */
export function openTokenFile(
  named: string,
  { mayCreate }: { readonly mayCreate: boolean },
): { readonly tokens: TokenStore } & AsyncDisposable {
  if (!mayCreate) refuseMissingFile(realDataFile(named));
  const file = openBeside(named, { mayCreate });
  const { database, path, holdsLock } = file;
  // A service that runs fsyncs a transaction after its commit. If the power failed with that one and one of ours unsynced, the
  // next start could take the torn frames of the first for damage.
  const syncOthers = () => {
    if (!holdsLock) syncWal(path);
  };
  let hasFailed = false;
  const writer = new Writer(database, {
    beforeWork: syncOthers,
    afterCommit: () => {},
    reportUnknown: ({ message }) => {
      hasFailed = true;
      return recordSyncFailure(path, message, database);
    },
  });
  const synced = syncedReads(path, syncOthers);
  const audit = new SqliteAudit(database, syncedAuditPages(database, synced), writer);
  return {
    tokens: new SqliteTokens(database, synced, writer, audit),
    async [Symbol.asyncDispose]() {
      // After a failed sync the connection stays open (left-open.ts).
      if (!hasFailed) file[Symbol.dispose]();
    },
  };
}
