// The tokens of all nodes. A change and its entry in the audit trail are one transaction. Of two processes that change tokens at
// the same time, the second waits for the first, and then reads what it stored.
import type { AuditEntry } from "../../access/audit.ts";
import type { Token } from "../../access/token.ts";
import type { TokenUse } from "../../access/tokens.ts";
import { int64Max } from "../../plants/int64.ts";
import { StoredTokens, type TokenChange, tokenColumns, tokenFrom, tokenValues } from "../token-rows.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { entryValues, insertEntry, type PostgresAudit } from "./postgres-audit.ts";

// It locks a row until the end of the transaction. It is no SELECT FOR UPDATE, since that would wait and then read an old snapshot
// where REPEATABLE READ is the default; an UPDATE fails there, and is retried. Its time is the latest, so no node removes the row.
const lockTokens = {
  text: `INSERT INTO plant_store_nodes (node, seen_at_ms) VALUES ('tokens', ${int64Max})
         ON CONFLICT (node) DO UPDATE SET seen_at_ms = EXCLUDED.seen_at_ms`,
};

const selectTokens = {
  name: "tokens",
  text: `SELECT ${tokenColumns} FROM tokens ORDER BY created_at_ms, digest`,
};

// Sums change with every token that is created, changed or deleted, by any process. The table is small, so this is cheap.
const selectSums = {
  name: "tokens-summary",
  text: "SELECT count(*), sum(created_at_ms), sum(expires_at_ms), sum(revoked_at_ms) FROM tokens",
};

// Two copies of a store at the same time may add one token twice.
const insertToken = {
  text: `INSERT INTO tokens (${tokenColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (digest) DO NOTHING`,
};

// What another process has ended since the tokens were read stays ended; `least` ignores NULL.
const endTokens = {
  text: `UPDATE tokens
            SET expires_at_ms = least(tokens.expires_at_ms, ended.expires_at_ms),
                revoked_at_ms = coalesce(tokens.revoked_at_ms, ended.revoked_at_ms)
           FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS ended (digest, expires_at_ms, revoked_at_ms)
          WHERE tokens.digest = ended.digest`,
};

const updateLastUses = {
  text: `UPDATE tokens SET last_used_at_ms = used.at_ms
           FROM unnest($1::text[], $2::bigint[]) AS used (digest, at_ms)
          WHERE tokens.digest = used.digest AND coalesce(tokens.last_used_at_ms, 0) < used.at_ms`,
};

/** Tokens in PostgreSQL, the same for every node. */
export class PostgresTokens extends StoredTokens {
  readonly #pool: ConnectionPool;
  readonly #audit: PostgresAudit;

  constructor(pool: ConnectionPool, audit: PostgresAudit) {
    super();
    this.#pool = pool;
    this.#audit = audit;
  }

  async all(): Promise<Token[]> {
    return (await this.#pool.query(selectTokens)).map(tokenFrom);
  }

  async recordUses(uses: readonly TokenUse[]): Promise<void> {
    const digests = uses.map(({ digest }) => digest);
    const times = uses.map(({ atMs }) => atMs);
    await this.#pool.query(updateLastUses, [digests, times]);
  }

  async version(): Promise<string> {
    return JSON.stringify(await this.#pool.query(selectSums));
  }

  protected async store({ added, ended = [], isAllowed }: TokenChange, entry: AuditEntry): Promise<boolean> {
    const values = entryValues(entry);
    const isStored = await this.#pool.transaction(async (run) => {
      await run(lockTokens);
      // A retry finds the entry if the first attempt was committed.
      if ((await run(insertEntry, values)).length === 0) return true;
      // This is a statement after the lock, so it sees what others have committed.
      if (isAllowed?.((await run(selectTokens)).map(tokenFrom)) === false) return false;
      if (added !== undefined) await run(insertToken, tokenValues(added));
      await run(endTokens, endings(ended));
      return true;
    });
    await this.#audit.trim();
    return isStored;
  }
}

/** Three arrays: the digest of each token, when it expires, and when it was revoked. */
function endings(tokens: readonly Token[]): unknown[] {
  return [
    tokens.map(({ digest }) => digest),
    tokens.map(({ expiresAtMs }) => expiresAtMs ?? null),
    tokens.map(({ revokedAtMs }) => revokedAtMs ?? null),
  ];
}
