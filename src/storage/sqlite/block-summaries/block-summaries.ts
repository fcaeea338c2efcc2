import type { Database, Statement } from "bun:sqlite";
import {
  blockPlants,
  lastSummarised,
  moveLastSummarisedSql,
  names,
  type SummaryTable,
  tags,
  times,
} from "./summary-tables.ts";

// Another program may have added thousands of blocks; a batch waits for these at most.
const blocksPerBatchMax = 4;

/** Writes the summaries of each block that is full, inside the writer's own transactions. */
export class BlockSummaries {
  readonly #database: Database;
  readonly #inserts: readonly Statement[];
  readonly #move: Statement;
  #last = 0;
  #summarised = 0;

  constructor(database: Database) {
    this.#database = database;
    this.#inserts = [tags, names, times].map((table) => database.query(insertSql(table)));
    this.#move = database.query(moveLastSummarisedSql);
    this.reload();
  }

  /** To be called inside the transaction that stored that many plants. */
  stored(plants: number): void {
    this.#last += plants;
    if (this.#last < this.#summarised + blockPlants) return;
    // Read again, inside the lock: another process may have stored plants and summarised blocks since.
    this.reload();
    this.#summarise(blocksPerBatchMax);
  }

  /** Summarises every full block, however long it takes. */
  catchUp(): void {
    this.#summarise(Number.POSITIVE_INFINITY);
  }

  /** To be called when a transaction was rolled back, and what it wrote here with it. */
  reload(): void {
    const row = this.#database
      .query<{ last: bigint }, []>("SELECT ifnull(max(seq), 0) AS last FROM plants")
      .get();
    this.#last = Number(row?.last ?? 0n);
    this.#summarised = lastSummarised(this.#database);
  }

  #summarise(blocksMax: number): void {
    for (let blocks = 0; blocks < blocksMax && this.#summarised + blockPlants <= this.#last; blocks++) {
      const [low, high] = [this.#summarised, this.#summarised + blockPlants];
      for (const insert of this.#inserts) insert.run(low / blockPlants, low, high);
      this.#move.run(high);
      this.#summarised = high;
    }
  }
}

function insertSql({ table, block, columns, computed, groupBy }: SummaryTable): string {
  const grouped = groupBy === undefined ? "" : ` AND ${groupBy} IS NOT NULL GROUP BY ${groupBy}`;
  return `INSERT INTO ${table} (${block}, ${columns}) SELECT ?, ${computed} FROM plants WHERE seq > ? AND seq <= ?${grouped}`;
}
