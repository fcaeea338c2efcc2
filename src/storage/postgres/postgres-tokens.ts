import type { Token, TokenStore } from "../../access/tokens.ts";
import { tokenColumns, tokenFrom, tokenValues } from "../token-rows.ts";
import type { Row, Statement } from "./connection.ts";
import type { Connections } from "./connections.ts";
import { readFailure } from "./faults.ts";

// Shorter than the plants' deadline: the token watch polls again soon, and keeps the tokens it has.
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
const set = `UPDATE tokens SET expires_at_ms = ended.expires_at_ms, revoked_at_ms = ended.revoked_at_ms
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS ended (digest, expires_at_ms, revoked_at_ms)
   WHERE tokens.digest = ended.digest`;
// One statement, so that it is one transaction. A retry finds the token that the first attempt stored.
const addOne = `WITH changed AS (${set})
  INSERT INTO tokens (${tokenColumns})
  VALUES ($4, $5, $6, $7, $8::bigint, $9::bigint, $10::bigint) ON CONFLICT (digest) DO NOTHING`;

/** Tokens in PostgreSQL, the same for every node. */
export class PostgresTokens implements TokenStore {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  async all(): Promise<Token[]> {
    return (await this.#run(selectAll, [])).map(tokenFrom);
  }

  async add(token: Token, changed: readonly Token[] = []): Promise<void> {
    await this.#run({ text: addOne }, [...endings(changed), ...tokenValues(token)]);
  }

  async change(tokens: readonly Token[]): Promise<void> {
    await this.#run({ text: set }, endings(tokens));
  }

  async version(): Promise<string> {
    return JSON.stringify(await this.#run(summary, []));
  }

  async #run(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    try {
      return await this.#connections.use(tokensMsMax, (run) => run(statement, values));
    } catch (error) {
      throw readFailure(error);
    }
  }
}

function endings(tokens: readonly Token[]): unknown[] {
  return [
    tokens.map(({ digest }) => digest),
    tokens.map(({ expiresAtMs }) => expiresAtMs ?? null),
    tokens.map(({ revokedAtMs }) => revokedAtMs ?? null),
  ];
}
