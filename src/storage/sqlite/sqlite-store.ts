import type { Database } from "bun:sqlite";
import { Checkpointer } from "./checkpointer.ts";
import { openDatabase } from "./open.ts";
import { SqlitePlants } from "./sqlite-plants.ts";
import { SqliteTokens } from "./sqlite-tokens.ts";
import { ThreadedArchive } from "./threaded-archive.ts";

/** The embedded store as the service runs it: one connection, which writes plants and tokens alike; others only read. */
export class SqliteStore implements AsyncDisposable {
  readonly engine = "sqlite";
  readonly plants: SqlitePlants;
  readonly tokens: SqliteTokens;
  readonly archive: ThreadedArchive;
  readonly #database: Database;
  readonly #checkpointer: Checkpointer;

  constructor(path: string) {
    this.#database = openDatabase(path, { create: true });
    this.#checkpointer = new Checkpointer(this.#database, path);
    this.plants = new SqlitePlants(this.#database, this.#checkpointer);
    this.tokens = new SqliteTokens(this.#database);
    this.archive = new ThreadedArchive(path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.archive.end();
    await this.#checkpointer.end();
    // The last connection to close brings the log into the database and removes it.
    this.#database.close();
    this.#checkpointer.closeFile();
  }
}
