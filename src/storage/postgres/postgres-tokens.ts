// The tokens of all nodes. Each change is one statement together with its entry in the audit trail, so that it is one
// transaction. A retry finds the token and the entry that the first attempt stored.
//
// Where only one of two processes may add its token, both may find at the same time that nothing is in the way. So the statement
// makes a claim first: a row in plant_store_nodes, beside those of the nodes. Of two processes that insert the same claim, the
// second waits for the first, and then inserts nothing. A claim is removed like the row of a stopped node.
//
// In every statement that adds a token, the parameters have the same numbers: $1 to $9 are the token, $10 to $16 the entry in the
// audit trail, and $17 to $19 the tokens that it replaces.
import type { AuditEntry } from "../../access/audit.ts";
import type { Token, TokenStore, TokenUse } from "../../access/tokens.ts";
import { nameInUseProblem, notLiveProblem, tokenColumns, tokenFrom, tokenValues } from "../token-rows.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { entryValues, type PostgresAudit } from "./postgres-audit.ts";

const selectTokens = {
  name: "tokens",
  text: `SELECT ${tokenColumns} FROM tokens ORDER BY created_at_ms, digest`,
};

const selectToken = { text: "SELECT 1 FROM tokens WHERE digest = $1" };

// Sums change with every token that is created, changed or deleted, by any process. The table is small, so this is cheap.
const selectSums = {
  name: "tokens-summary",
  text: "SELECT count(*), sum(created_at_ms), sum(expires_at_ms), sum(revoked_at_ms) FROM tokens",
};

// Adds a token unless a live one has its name. The claim on the name, such as 'token 0 of NAME', has the number of tokens that
// had the name before: so it never keeps a later token out.
const addToken = {
  text: `
    WITH claimed AS (
      INSERT INTO plant_store_nodes
             (node, seen_at_ms)
      SELECT  'token ' || (SELECT count(*) FROM tokens WHERE name = $2::text) || ' of ' || $2::text, $5::bigint
       WHERE NOT EXISTS (
               SELECT 1 FROM tokens
                WHERE name = $2::text AND revoked_at_ms IS NULL
                  AND (expires_at_ms IS NULL OR expires_at_ms > $5::bigint))
      ON CONFLICT (node) DO NOTHING
      RETURNING node),
    entry AS (
      INSERT INTO audit_trail
             (id,        at_ms,       actor,     action,    subject,   address,   detail)
      SELECT  $10::text, $11::bigint, $12::text, $13::text, $14::text, $15::text, $16::text
        FROM claimed
      ON CONFLICT (id) DO NOTHING)
    INSERT INTO tokens
           (id,       name,     digest,   scopes,   created_at_ms, expires_at_ms, revoked_at_ms, created_by, last_used_at_ms)
    SELECT  $1::text, $2::text, $3::text, $4::text, $5::bigint,    $6::bigint,    $7::bigint,    $8::text,   $9::bigint
      FROM claimed
    ON CONFLICT (digest) DO NOTHING
    RETURNING 1`,
};

// Ends tokens and adds the one that replaces them, unless one of them has ended already. `live` has those that are still valid
// at $5, when the new one is created. FOR UPDATE waits for a node that is changing one of them, then sees what that node stored.
// What another node has ended since the tokens were read stays ended, and `least` ignores NULL. Without any token to end, the new
// one is added in any case.
const addReplacementToken = {
  text: `
    WITH live AS (
      SELECT digest FROM tokens
       WHERE digest = ANY ($17::text[]) AND revoked_at_ms IS NULL
         AND (expires_at_ms IS NULL OR expires_at_ms > $5::bigint)
         FOR UPDATE),
    allowed AS (
      SELECT 1 WHERE (SELECT count(*) FROM live) = cardinality($17::text[])),
    changed AS (
      UPDATE tokens
         SET expires_at_ms = least(tokens.expires_at_ms, ended.expires_at_ms),
             revoked_at_ms = coalesce(tokens.revoked_at_ms, ended.revoked_at_ms)
        FROM unnest($17::text[], $18::bigint[], $19::bigint[]) AS ended (digest, expires_at_ms, revoked_at_ms), allowed
       WHERE tokens.digest = ended.digest),
    entry AS (
      INSERT INTO audit_trail
             (id,        at_ms,       actor,     action,    subject,   address,   detail)
      SELECT  $10::text, $11::bigint, $12::text, $13::text, $14::text, $15::text, $16::text
        FROM allowed
      ON CONFLICT (id) DO NOTHING)
    INSERT INTO tokens
           (id,       name,     digest,   scopes,   created_at_ms, expires_at_ms, revoked_at_ms, created_by, last_used_at_ms)
    SELECT  $1::text, $2::text, $3::text, $4::text, $5::bigint,    $6::bigint,    $7::bigint,    $8::text,   $9::bigint
      FROM allowed
    ON CONFLICT (digest) DO NOTHING
    RETURNING 1`,
};

// Ends tokens. $1 to $7 are the entry in the audit trail, $8 to $10 the tokens.
const changeTokens = {
  text: `
    WITH changed AS (
      UPDATE tokens
         SET expires_at_ms = least(tokens.expires_at_ms, ended.expires_at_ms),
             revoked_at_ms = coalesce(tokens.revoked_at_ms, ended.revoked_at_ms)
        FROM unnest($8::text[], $9::bigint[], $10::bigint[]) AS ended (digest, expires_at_ms, revoked_at_ms)
       WHERE tokens.digest = ended.digest)
    INSERT INTO audit_trail
           (id,       at_ms,      actor,    action,   subject,  address,  detail)
    VALUES ($1::text, $2::bigint, $3::text, $4::text, $5::text, $6::text, $7::text)
    ON CONFLICT (id) DO NOTHING`,
};

// Adds a token unless there is one already. Its claim is 'first-token'.
const addFirstToken = {
  text: `
    WITH claimed AS (
      INSERT INTO plant_store_nodes
             (node,          seen_at_ms)
      SELECT  'first-token', $5::bigint
       WHERE NOT EXISTS (SELECT 1 FROM tokens)
      ON CONFLICT (node) DO NOTHING
      RETURNING node),
    entry AS (
      INSERT INTO audit_trail
             (id,        at_ms,       actor,     action,    subject,   address,   detail)
      SELECT  $10::text, $11::bigint, $12::text, $13::text, $14::text, $15::text, $16::text
        FROM claimed
      ON CONFLICT (id) DO NOTHING)
    INSERT INTO tokens
           (id,       name,     digest,   scopes,   created_at_ms, expires_at_ms, revoked_at_ms, created_by, last_used_at_ms)
    SELECT  $1::text, $2::text, $3::text, $4::text, $5::bigint,    $6::bigint,    $7::bigint,    $8::text,   $9::bigint
      FROM claimed`,
};

const updateLastUses = {
  text: `UPDATE tokens SET last_used_at_ms = used.at_ms
           FROM unnest($1::text[], $2::bigint[]) AS used (digest, at_ms)
          WHERE tokens.digest = used.digest AND coalesce(tokens.last_used_at_ms, 0) < used.at_ms`,
};

/** Tokens in PostgreSQL, the same for every node. */
export class PostgresTokens implements TokenStore {
  readonly #pool: ConnectionPool;
  readonly #audit: PostgresAudit;

  constructor(pool: ConnectionPool, audit: PostgresAudit) {
    this.#pool = pool;
    this.#audit = audit;
  }

  async all(): Promise<Token[]> {
    return (await this.#pool.query(selectTokens)).map(tokenFrom);
  }

  async add(token: Token, entry: AuditEntry): Promise<void> {
    const values = [...tokenValues(token), ...entryValues(entry)];
    const added = await this.#pool.query(addToken, values);
    // Nothing was added if this is a retry, or if another token of that name is live.
    if (added.length === 0 && !(await this.#has(token))) throw nameInUseProblem(token);
    await this.#audit.trim();
  }

  async addReplacement(token: Token, entry: AuditEntry, replaced: readonly Token[]): Promise<void> {
    const values = [...tokenValues(token), ...entryValues(entry), ...endings(replaced)];
    const added = await this.#pool.query(addReplacementToken, values);
    // Nothing was added if this is a retry, or if one of the others is no longer live.
    if (added.length === 0 && !(await this.#has(token))) throw notLiveProblem(token);
    await this.#audit.trim();
  }

  async addCopy(token: Token, entry: AuditEntry): Promise<void> {
    await this.addReplacement(token, entry, []);
  }

  async addFirst(token: Token, entry: AuditEntry): Promise<void> {
    const values = [...tokenValues(token), ...entryValues(entry)];
    await this.#pool.query(addFirstToken, values);
    await this.#audit.trim();
  }

  async change(tokens: readonly Token[], entry: AuditEntry): Promise<void> {
    const values = [...entryValues(entry), ...endings(tokens)];
    await this.#pool.query(changeTokens, values);
    await this.#audit.trim();
  }

  async recordUses(uses: readonly TokenUse[]): Promise<void> {
    const digests = uses.map(({ digest }) => digest);
    const times = uses.map(({ atMs }) => atMs);
    await this.#pool.query(updateLastUses, [digests, times]);
  }

  async version(): Promise<string> {
    return JSON.stringify(await this.#pool.query(selectSums));
  }

  async #has({ digest }: Token): Promise<boolean> {
    return (await this.#pool.query(selectToken, [digest])).length > 0;
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
