import type { Database } from "bun:sqlite";
import { isScope } from "../../access/scopes.ts";
import type { Token, TokenStore } from "../../access/tokens.ts";
import { readPragma } from "./connect.ts";
import type { Writer } from "./writing/writer.ts";

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
  readonly #writer: Writer | undefined;

  /** Without a writer, for reading alone. */
  constructor(database: Database, writer: Writer | undefined) {
    this.#database = database;
    this.#writer = writer;
  }

  async all(): Promise<Token[]> {
    return this.#database
      .query<Row, []>("SELECT * FROM tokens ORDER BY created_at_ms, rowid")
      .all()
      .map(fromRow);
  }

  async add(token: Token, changed: readonly Token[] = []): Promise<void> {
    await this.#write(() => {
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
    });
  }

  async change(tokens: readonly Token[]): Promise<void> {
    await this.#write(() => this.#update(tokens));
  }

  async version(): Promise<string> {
    return String(readPragma(this.#database, "data_version"));
  }

  async #write(work: () => void): Promise<void> {
    if (this.#writer === undefined) throw new Error("these tokens were opened for reading");
    await this.#writer.transaction(work);
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
