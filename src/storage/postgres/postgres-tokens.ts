import { randomBytes } from "node:crypto";
import type { AuditEntry, AuditPage, AuditTrail } from "../../access/audit.ts";
import type { Token, TokenStore, TokenUse } from "../../access/tokens.ts";
import { CursorProblem } from "../../plants/plant-archive.ts";
import {
  auditColumns,
  auditPage,
  auditValues,
  entriesPerRemoval,
  notLiveProblem,
  removeOldest,
  tokenColumns,
  tokenFrom,
  tokenValues,
} from "../access-rows.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { placeholders } from "./session.ts";

const idShape = /^[0-9a-f]{32}$/;
const afterEveryId = "g";

const selectPage = {
  name: "audit-page",
  text: `SELECT id, ${auditColumns} FROM audit_trail WHERE id < $1 ORDER BY id DESC LIMIT $2`,
};
const insertOne = { text: `WITH ${insertEntry(1)} SELECT 1` };

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
const tokenTypes = ["text", "text", "text", "text", "bigint", "bigint", "bigint", "text", "bigint"];
// Each is one statement, so that it is one transaction. A retry finds the token that the first attempt stored.
// FOR UPDATE waits for a node that is changing one of them, then sees what it stored.
const addOne = `WITH live AS (
    SELECT digest FROM tokens WHERE digest = ANY ($1::text[]) AND revoked_at_ms IS NULL
       AND (expires_at_ms IS NULL OR expires_at_ms > $8::bigint) FOR UPDATE),
  allowed AS (SELECT 1 WHERE (SELECT count(*) FROM live) = cardinality($1::text[])),
  changed AS (${set(", allowed")}), ${insertEntry(13, "FROM allowed")}
  INSERT INTO tokens (${tokenColumns}) SELECT ${placeholders(tokenTypes, 4)} FROM allowed ON CONFLICT (digest) DO NOTHING RETURNING 1`;
const findOne = "SELECT 1 FROM tokens WHERE digest = $1";
const changeSome = `WITH changed AS (${set()}), ${insertEntry(4)} SELECT 1`;
// Two nodes may both find no token. The row that both insert makes the second wait, and then insert nothing; it is removed
// like the row of a stopped node.
const addFirstOne = `WITH claimed AS (
    INSERT INTO plant_store_nodes (node, seen_at_ms)
    SELECT 'first-token', $1::bigint WHERE NOT EXISTS (SELECT 1 FROM tokens)
    ON CONFLICT (node) DO NOTHING RETURNING node), ${insertEntry(11, "FROM claimed")}
  INSERT INTO tokens (${tokenColumns}) SELECT ${placeholders(tokenTypes, 2)} FROM claimed`;
const setUses = `UPDATE tokens SET last_used_at_ms = used.at_ms
    FROM unnest($1::text[], $2::bigint[]) AS used (digest, at_ms)
   WHERE tokens.digest = used.digest AND coalesce(tokens.last_used_at_ms, 0) < used.at_ms`;

/** The audit trail in PostgreSQL, one for all nodes. */
export class PostgresAudit implements AuditTrail {
  readonly #pool: ConnectionPool;
  #inserted = 0;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  async record(entry: AuditEntry): Promise<void> {
    await this.#pool.query(insertOne, entryValues(entry));
    await this.trim();
  }

  /**
   * Called after each entry. A statement of its own, since some engines let one change a table only once; if it fails, a later
   * one removes more.
   */
  async trim(): Promise<void> {
    if (this.#inserted++ % entriesPerRemoval !== 0) return;
    for (const text of removeOldest("id")) await this.#pool.query({ text }).catch(() => {});
  }

  async page(limit: number, cursor: string | undefined): Promise<AuditPage> {
    if (cursor !== undefined && !idShape.test(cursor))
      throw new CursorProblem("The cursor is not from a page of this audit trail.");
    const values = [cursor ?? afterEveryId, limit + 1];
    return auditPage(await this.#pool.query(selectPage, values), limit);
  }
}

/** Tokens in PostgreSQL, the same for every node. */
export class PostgresTokens implements TokenStore {
  readonly #pool: ConnectionPool;
  readonly #audit: PostgresAudit;

  constructor(pool: ConnectionPool, audit: PostgresAudit) {
    this.#pool = pool;
    this.#audit = audit;
  }

  async all(): Promise<Token[]> {
    return (await this.#pool.query(selectAll)).map(tokenFrom);
  }

  async add(token: Token, entry: AuditEntry, changed: readonly Token[] = []): Promise<void> {
    const values = [...endings(changed), ...tokenValues(token), ...entryValues(entry)];
    const added = await this.#pool.query({ text: addOne }, values);
    if (added.length === 0 && (await this.#pool.query({ text: findOne }, [token.digest])).length === 0)
      throw notLiveProblem(token);
    await this.#audit.trim();
  }

  async addFirst(token: Token, entry: AuditEntry): Promise<void> {
    await this.#pool.query({ text: addFirstOne }, [
      token.createdAtMs,
      ...tokenValues(token),
      ...entryValues(entry),
    ]);
  }

  async change(tokens: readonly Token[], entry: AuditEntry): Promise<void> {
    await this.#pool.query({ text: changeSome }, [...endings(tokens), ...entryValues(entry)]);
    await this.#audit.trim();
  }

  async recordUses(uses: readonly TokenUse[]): Promise<void> {
    const [digests, times] = [uses.map(({ digest }) => digest), uses.map(({ atMs }) => atMs)];
    await this.#pool.query({ text: setUses }, [digests, times]);
  }

  async version(): Promise<string> {
    return JSON.stringify(await this.#pool.query(summary));
  }
}

function endings(tokens: readonly Token[]): unknown[] {
  return [
    tokens.map(({ digest }) => digest),
    tokens.map(({ expiresAtMs }) => expiresAtMs ?? null),
    tokens.map(({ revokedAtMs }) => revokedAtMs ?? null),
  ];
}

/** The values of `insertEntry`. */
function entryValues(entry: AuditEntry): unknown[] {
  return [idOf(entry.atMs), ...auditValues(entry)];
}

/**
 * The common table expression of a statement that also inserts an entry: one statement is one transaction. A retry finds the id
 * that the first attempt stored. `from` adds the entry only where it has a row; `first` is the number of the first value.
 */
function insertEntry(first: number, from = ""): string {
  const types = ["text", "bigint", "text", "text", "text", "text", "text"];
  return `entry AS (
      INSERT INTO audit_trail (id, ${auditColumns})
      SELECT ${placeholders(types, first)} ${from} ON CONFLICT (id) DO NOTHING)`;
}

// Without a sequence, which distributed engines do not order. The time since the process started orders entries of the same
// millisecond, and random bits tell nodes apart.
function idOf(atMs: number): string {
  const hex = (value: number, digits: number) => Math.floor(value).toString(16).padStart(digits, "0");
  return hex(atMs, 12) + hex(performance.now() * 1000, 12) + randomBytes(4).toString("hex");
}
