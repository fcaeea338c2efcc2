import type { Database } from "bun:sqlite";
import type { Token, TokenStore } from "../../access/tokens.ts";
import { tokenColumns, tokenFrom, tokenValues } from "../token-rows.ts";
import { readPragma } from "./connect.ts";
import type { Writer } from "./writing/writer.ts";

/** Tokens in SQLite, beside the plants, so that one file is the entire store. */
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
      .query(`SELECT ${tokenColumns} FROM tokens ORDER BY created_at_ms, rowid`)
      .values()
      .map(tokenFrom);
  }

  async add(token: Token, changed: readonly Token[] = []): Promise<void> {
    await this.#write(() => {
      this.#database
        .query(`INSERT INTO tokens (${tokenColumns}) VALUES (?, ?, ?, ?, ?, ?, ?)`)
        .run(...tokenValues(token));
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
