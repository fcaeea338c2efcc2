import type { Database } from "bun:sqlite";
import { openDatabase } from "./open.ts";
import { SqlitePlants } from "./sqlite-plants.ts";
import { SqliteTokens } from "./sqlite-tokens.ts";

/** The embedded store as the service runs it: one connection, which writes plants and tokens alike. */
export class SqliteStore implements AsyncDisposable {
  readonly plants: SqlitePlants;
  readonly tokens: SqliteTokens;
  readonly #database: Database;

  constructor(path: string) {
    this.#database = openDatabase(path, { create: true });
    this.plants = new SqlitePlants(this.#database);
    this.tokens = new SqliteTokens(this.#database);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The last connection to close brings the log into the database and removes it.
    this.#database.close();
  }
}
