import type { Database, Statement } from "bun:sqlite";

/** As many plants as the migration says that a window has. */
export const windowPlants = 1024;
// Names longer than this on the average are looked through one by one.
const namesCharactersMax = 128 * windowPlants;
/** What name_windows has of a block, out of its plants. */
export const namesOfBlock = `CASE WHEN sum(length(name)) <= ${namesCharactersMax} THEN group_concat(lower(name), char(10)) END`;
// After a store was filled past the service there may be thousands of windows to count; a batch waits for these at most.
const windowsAtOnce = 4;

/** Writes down what each full window of plants holds, inside the writer's own transactions. */
export class Windows {
  readonly #database: Database;
  readonly #tags: Statement;
  readonly #names: Statement;
  readonly #times: Statement;
  readonly #move: Statement;
  /** The last plant, and the last one that is counted. */
  #last = 0;
  #counted = 0;

  constructor(database: Database) {
    this.#database = database;
    this.#names = database.query(
      `INSERT INTO name_windows (window, names)
       SELECT ?, ${namesOfBlock} FROM plants WHERE seq > ? AND seq <= ?`,
    );
    this.#tags = database.query(
      "INSERT INTO tag_windows (tag, window, plants) SELECT tag, ?, count(*) FROM plants WHERE seq > ? AND seq <= ? AND tag IS NOT NULL GROUP BY tag",
    );
    this.#times = database.query(
      "INSERT INTO block_times (block, min_ms, max_ms) SELECT ?, min(created_at_ms), max(created_at_ms) FROM plants WHERE seq > ? AND seq <= ?",
    );
    this.#move = database.query("UPDATE windows_end SET seq = ?");
    this.reload();
  }

  /** To be called inside the transaction that stored so many plants. */
  stored(plants: number): void {
    this.#last += plants;
    if (this.#last < this.#counted + windowPlants) return;
    // Read again, inside the lock: another process may have stored plants and summed up blocks since.
    this.reload();
    for (let done = 0; done < windowsAtOnce && this.#counted + windowPlants <= this.#last; done++)
      this.#step();
  }

  /** Counts every full window there is, however long it takes. */
  catchUp(): void {
    while (this.#counted + windowPlants <= this.#last) this.#step();
  }

  /** To be called when a transaction was taken back, and what it did here with it. */
  reload(): void {
    const row = this.#database
      .query<{ last: bigint; counted: bigint }, []>(
        "SELECT (SELECT ifnull(max(seq), 0) FROM plants) AS last, seq AS counted FROM windows_end",
      )
      .get();
    this.#last = Number(row?.last ?? 0n);
    this.#counted = Number(row?.counted ?? 0n);
  }

  #step(): void {
    const end = this.#counted + windowPlants;
    this.#tags.run(this.#counted / windowPlants, this.#counted, end);
    this.#names.run(this.#counted / windowPlants, this.#counted, end);
    this.#times.run(this.#counted / windowPlants, this.#counted, end);
    this.#move.run(end);
    this.#counted = end;
  }
}
