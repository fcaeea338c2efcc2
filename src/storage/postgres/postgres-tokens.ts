import type { AuditEntry } from "../../access/audit.ts";
import type { Token, TokenStore, TokenUse } from "../../access/tokens.ts";
import { notLiveProblem, tokenColumns, tokenFrom, tokenValues } from "../token-rows.ts";
import { placeholders, type Row, type Statement } from "./connection.ts";
import type { Connections } from "./connections.ts";
import { entryValues, insertEntry, type PostgresAudit } from "./postgres-audit.ts";

// Shorter than the plants' deadline: the token watch polls again soon, and uses the tokens it has.
const tokensMsMax = 2000;

const selectAll = {
  name: "tokens",
  text: `SELECT ${tokenColumns} FROM tokens ORDER BY created_at_ms, digest`,
};
// Sums change with every token that is created, changed or deleted, by any process. The table is small, so this is cheap.
const summary = {
  name: "tokens-summary",
  text: "SELECT count(*), sum(created_at_ms), sum(expires_at_ms), sum(revoked_at_ms) FROM tokens",
};
// `least` ignores NULL. What another node has ended since the tokens were read stays ended.
const set = (
  from = "",
) => `UPDATE tokens SET expires_at_ms = least(tokens.expires_at_ms, ended.expires_at_ms),
         revoked_at_ms = coalesce(tokens.revoked_at_ms, ended.revoked_at_ms)
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS ended (digest, expires_at_ms, revoked_at_ms) ${from}
   WHERE tokens.digest = ended.digest`;
const tokenTypes = ["text", "text", "text", "text", "bigint", "bigint", "bigint", "text", "bigint", "text"];
// Each is one statement, so that it is one transaction. A retry finds the token that the first attempt stored.
// FOR UPDATE waits for a node that is changing one of them, then sees what it stored.
const addOne = `WITH live AS (
    SELECT digest FROM tokens WHERE digest = ANY ($1::text[]) AND revoked_at_ms IS NULL
       AND (expires_at_ms IS NULL OR expires_at_ms > $8::bigint) FOR UPDATE),
  allowed AS (SELECT 1 WHERE (SELECT count(*) FROM live) = cardinality($1::text[])),
  changed AS (${set(", allowed")}), ${insertEntry(14, "FROM allowed")}
  INSERT INTO tokens (${tokenColumns}) SELECT ${placeholders(tokenTypes, 4)} FROM allowed ON CONFLICT (digest) DO NOTHING RETURNING 1`;
const findOne = "SELECT 1 FROM tokens WHERE digest = $1";
const changeSome = `WITH changed AS (${set()}), ${insertEntry(4)} SELECT 1`;
// Two nodes may both find no token. The row that both insert makes the second wait, and then insert nothing; it is removed
// like the row of a stopped node.
const addFirstOne = `WITH claimed AS (
    INSERT INTO plant_store_nodes (node, seen_at_ms)
    SELECT 'first-token', $1::bigint WHERE NOT EXISTS (SELECT 1 FROM tokens)
    ON CONFLICT (node) DO NOTHING RETURNING node), ${insertEntry(12, "FROM claimed")}
  INSERT INTO tokens (${tokenColumns}) SELECT ${placeholders(tokenTypes, 2)} FROM claimed`;
const setUses = `UPDATE tokens SET last_used_at_ms = used.at_ms
    FROM unnest($1::text[], $2::bigint[]) AS used (digest, at_ms)
   WHERE tokens.digest = used.digest AND coalesce(tokens.last_used_at_ms, 0) < used.at_ms`;

/** Tokens in PostgreSQL, the same for every node. */
export class PostgresTokens implements TokenStore {
  readonly #connections: Connections;
  readonly #audit: PostgresAudit;

  constructor(connections: Connections, audit: PostgresAudit) {
    this.#connections = connections;
    this.#audit = audit;
  }

  async all(): Promise<Token[]> {
    return (await this.#run(selectAll, [])).map(tokenFrom);
  }

  async add(token: Token, entry: AuditEntry, changed: readonly Token[] = []): Promise<void> {
    const values = [...endings(changed), ...tokenValues(token), ...entryValues(entry)];
    const added = await this.#run({ text: addOne }, values);
    if (added.length === 0 && (await this.#run({ text: findOne }, [token.digest])).length === 0)
      throw notLiveProblem(token);
    await this.#audit.trim();
  }

  async addFirst(token: Token, entry: AuditEntry): Promise<void> {
    await this.#run({ text: addFirstOne }, [token.createdAtMs, ...tokenValues(token), ...entryValues(entry)]);
  }

  async change(tokens: readonly Token[], entry: AuditEntry): Promise<void> {
    await this.#run({ text: changeSome }, [...endings(tokens), ...entryValues(entry)]);
    await this.#audit.trim();
  }

  async recordUses(uses: readonly TokenUse[]): Promise<void> {
    const [digests, times] = [uses.map(({ digest }) => digest), uses.map(({ atMs }) => atMs)];
    await this.#run({ text: setUses }, [digests, times]);
  }

  async version(): Promise<string> {
    return JSON.stringify(await this.#run(summary, []));
  }

  #run(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#connections.query(tokensMsMax, statement, values);
  }
}

function endings(tokens: readonly Token[]): unknown[] {
  return [
    tokens.map(({ digest }) => digest),
    tokens.map(({ expiresAtMs }) => expiresAtMs ?? null),
    tokens.map(({ revokedAtMs }) => revokedAtMs ?? null),
  ];
}
