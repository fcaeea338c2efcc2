import type { Database } from "bun:sqlite";
import type { AuditEntry } from "../../access/audit.ts";
import type { Token } from "../../access/token.ts";
import type { TokenStore, TokenUse } from "../../access/tokens.ts";
import { StoredTokens, type TokenChange, tokenColumns, tokenFrom, tokenValues } from "../token-rows.ts";
import { readPragma } from "./data-file/connect.ts";
import { syncWal } from "./data-file/durable-files.ts";
import { recordSyncFailure } from "./data-file/left-open.ts";
import { openBeside } from "./opening/open-for-writing.ts";
import { syncedAuditPages } from "./reading/audit-page.ts";
import { type SyncedRead, syncedReads } from "./reading/synced-reads.ts";
import { SqliteAudit } from "./sqlite-audit.ts";
import { Writer } from "./writing/writer.ts";

const selectTokens = `SELECT ${tokenColumns} FROM tokens ORDER BY created_at_ms, rowid`;
const insertToken = `INSERT INTO tokens (${tokenColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const endToken = `
  UPDATE tokens SET expires_at_ms = min(coalesce(expires_at_ms, ?1), coalesce(?1, expires_at_ms)),
                    revoked_at_ms = coalesce(revoked_at_ms, ?2) WHERE digest = ?3`;

/** Tokens in SQLite, together with the plants, so that one file is the entire store. */
export class SqliteTokens extends StoredTokens {
  readonly #database: Database;
  readonly #synced: SyncedRead;
  readonly #writer: Writer;
  readonly #audit: SqliteAudit;

  constructor(database: Database, synced: SyncedRead, writer: Writer, audit: SqliteAudit) {
    super();
    this.#database = database;
    this.#synced = synced;
    this.#writer = writer;
    this.#audit = audit;
  }

  all(): Promise<Token[]> {
    return readTokens(this.#database, this.#synced);
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

  protected store({ added, ended = [], isAllowed }: TokenChange, entry: AuditEntry): Promise<boolean> {
    const database = this.#database;
    return this.#writer.transaction(() => {
      if (isAllowed?.(database.query(selectTokens).values().map(tokenFrom)) === false) return false;
      if (added !== undefined) database.query(insertToken).run(...tokenValues(added));
      for (const { digest, expiresAtMs, revokedAtMs } of ended)
        database.query(endToken).run(expiresAtMs ?? null, revokedAtMs ?? null, digest);
      this.#audit.insert(entry);
      return true;
    });
  }
}

/** Every token, oldest first, as `TokenStore.all` has them. A connection that only reads is enough. */
export async function readTokens(database: Database, synced: SyncedRead): Promise<Token[]> {
  const rows = await synced(() => database.query(selectTokens).values());
  return rows.map(tokenFrom);
}

/** The tokens of a data file, for a command that may run alongside the service. */
export function openTokenFile(
  named: string,
  { mayCreate }: { readonly mayCreate: boolean },
): { readonly tokens: TokenStore } & AsyncDisposable {
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
