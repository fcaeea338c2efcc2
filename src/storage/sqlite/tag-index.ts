import type { Database, Statement } from "bun:sqlite";

// An index that SQLite keeps itself has a page to write for each tag in every batch. Written for many plants at a time it
// is a fraction of that, and whoever reads looks through these last few plants one by one.
const plantsAtOnce = 1024;
// After a store was filled past the service there may be millions; they are caught up with in steps that stall nobody.
const plantsAtOnceMax = 4096;

/** Keeps `plants_by_tag` up with the plants, inside the writer's own transactions. */
export class TagIndex {
  readonly #add: Statement;
  readonly #move: Statement;
  #missing: number;

  constructor(database: Database) {
    this.#add = database.query(
      `INSERT INTO plants_by_tag (tag, seq)
       SELECT tag, plants.seq FROM plants, plants_by_tag_end AS reached
        WHERE plants.seq > reached.seq AND plants.seq <= reached.seq + ? AND tag IS NOT NULL ORDER BY tag, plants.seq`,
    );
    this.#move = database.query(
      "UPDATE plants_by_tag_end SET seq = min(seq + ?, (SELECT ifnull(max(seq), 0) FROM plants))",
    );
    this.#missing = missing(database);
  }

  /** To be called inside the transaction that stored so many plants. Should it fail, they are only counted too early. */
  stored(plants: number): void {
    this.#missing += plants;
    if (this.#missing >= plantsAtOnce) this.#step();
  }

  /** Catches up with all there is, however long it takes. */
  catchUp(): void {
    while (this.#missing > 0) this.#step();
  }

  #step(): void {
    this.#add.run(plantsAtOnceMax);
    this.#move.run(plantsAtOnceMax);
    this.#missing = Math.max(0, this.#missing - plantsAtOnceMax);
  }
}

function missing(database: Database): number {
  const row = database
    .query<{ missing: bigint }, []>(
      "SELECT ifnull(max(plants.seq), 0) - (SELECT seq FROM plants_by_tag_end) AS missing FROM plants",
    )
    .get();
  return Number(row?.missing ?? 0n);
}
