import type { Database, Statement } from "bun:sqlite";

/** As many plants as the migration says that a window has. */
export const windowPlants = 1024;
// After a store was filled past the service there may be thousands of windows to count; a batch waits for these at most.
const windowsAtOnce = 4;

/** Keeps the count of tags in each window of plants, inside the writer's own transactions. */
export class TagWindows {
  readonly #database: Database;
  readonly #count: Statement;
  readonly #move: Statement;
  /** The last plant, and the last one that is counted. */
  #last = 0;
  #counted = 0;

  constructor(database: Database) {
    this.#database = database;
    this.#count = database.query(
      "INSERT INTO tag_windows (tag, window, plants) SELECT tag, ?, count(*) FROM plants WHERE seq > ? AND seq <= ? AND tag IS NOT NULL GROUP BY tag",
    );
    this.#move = database.query("UPDATE tag_windows_end SET seq = ?");
    this.reload();
  }

  /** To be called inside the transaction that stored so many plants. */
  stored(plants: number): void {
    this.#last += plants;
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
        "SELECT (SELECT ifnull(max(seq), 0) FROM plants) AS last, seq AS counted FROM tag_windows_end",
      )
      .get();
    this.#last = Number(row?.last ?? 0n);
    this.#counted = Number(row?.counted ?? 0n);
  }

  #step(): void {
    const end = this.#counted + windowPlants;
    this.#count.run(this.#counted / windowPlants, this.#counted, end);
    this.#move.run(end);
    this.#counted = end;
  }
}
