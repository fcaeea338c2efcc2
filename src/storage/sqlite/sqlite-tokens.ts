import type { Database } from "bun:sqlite";
import { isScope } from "../../access/scopes.ts";
import type { Token, TokenStore } from "../../access/tokens.ts";
import { readPragma } from "./open.ts";

interface Row {
  id: string;
  name: string;
  digest: string;
  scopes: string;
  created_at_ms: bigint;
  expires_at_ms: bigint | null;
  revoked_at_ms: bigint | null;
}

/** Tokens in SQLite, beside the plants, so that one file is the whole store. */
export class SqliteTokens implements TokenStore {
  readonly #database: Database;
  #dataVersion: bigint;

  constructor(database: Database) {
    this.#database = database;
    this.#dataVersion = readPragma(database, "data_version");
  }

  async all(): Promise<Token[]> {
    // Read before the rows: a change in between is then seen as one that came after.
    const version = readPragma(this.#database, "data_version");
    const tokens = this.#database
      .query<Row, []>("SELECT * FROM tokens ORDER BY created_at_ms, rowid")
      .all()
      .map(fromRow);
    this.#dataVersion = version;
    return tokens;
  }

  async add(token: Token, changed: readonly Token[] = []): Promise<void> {
    this.#database
      .transaction(() => {
        this.#database
          .query(
            "INSERT INTO tokens (id, name, digest, scopes, created_at_ms, expires_at_ms, revoked_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)",
          )
          .run(
            token.id,
            token.name,
            token.digest,
            token.scopes.join(" "),
            token.createdAtMs,
            token.expiresAtMs ?? null,
            token.revokedAtMs ?? null,
          );
        this.#update(changed);
      })
      .immediate();
  }

  async change(tokens: readonly Token[]): Promise<void> {
    this.#database.transaction(() => this.#update(tokens)).immediate();
  }

  async changedElsewhere(): Promise<boolean> {
    return readPragma(this.#database, "data_version") !== this.#dataVersion;
  }

  #update(tokens: readonly Token[]): void {
    const update = this.#database.query(
      "UPDATE tokens SET expires_at_ms = ?, revoked_at_ms = ? WHERE digest = ?",
    );
    for (const token of tokens)
      update.run(token.expiresAtMs ?? null, token.revokedAtMs ?? null, token.digest);
  }
}

function fromRow(row: Row): Token {
  return {
    id: row.id,
    name: row.name,
    digest: row.digest,
    scopes: row.scopes.split(" ").filter(isScope),
    createdAtMs: Number(row.created_at_ms),
    expiresAtMs: optionalNumber(row.expires_at_ms),
    revokedAtMs: optionalNumber(row.revoked_at_ms),
  };
}

function optionalNumber(value: bigint | null): number | undefined {
  return value === null ? undefined : Number(value);
}
