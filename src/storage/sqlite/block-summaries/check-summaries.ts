import type { Database, Statement } from "bun:sqlite";
import { olderProblem } from "../migrate.ts";
import { readPragma } from "../read-pragma.ts";
import { windowPlants as blockPlants, namesOfBlock } from "./write-summaries.ts";

const blocksMax = 20;

/** Compares the summaries of blocks with the plants in them. */
export class BlockCheck {
  readonly #database: Database;
  readonly #full: number;
  readonly #names: Statement<{ same: bigint }, [number, number, number]>;
  /** Undefined in a file from before there were times of blocks. */
  readonly #times: Statement<{ same: bigint }, [number, number, number]> | undefined;

  constructor(database: Database, path: string) {
    this.#database = database;
    // In the schemas before this table nothing can be compared.
    if (!this.#has("windows_end")) throw olderProblem(path, Number(readPragma(database, "user_version")));
    const end = database.query<{ seq: bigint }, []>("SELECT seq FROM windows_end").get();
    this.#full = Number(end?.seq ?? 0n) / blockPlants;
    this.#names = database.query(
      `SELECT names IS (SELECT ${namesOfBlock} FROM plants WHERE seq > ? AND seq <= ?) AS same
         FROM name_windows WHERE window = ?`,
    );
    if (!this.#has("block_times")) return;
    this.#times = database.query(
      `SELECT (min_ms, max_ms) IS (SELECT min(created_at_ms), max(created_at_ms) FROM plants WHERE seq > ? AND seq <= ?) AS same
         FROM block_times WHERE block = ?`,
    );
  }

  /** What is wrong with the summaries as a whole, where so many plants are stored. */
  problems(plants: number): string[] {
    const problems = this.#blocksOfWrongTags().map((block) => wrong(block, "tags"));
    if (this.#full * blockPlants > plants)
      problems.push(
        `blocks of ${this.#full * blockPlants} plants have summaries, but the last plant is ${plants}`,
      );
    const tables = [["name_windows", "names"], ...(this.#times ? [["block_times", "times"]] : [])];
    for (const [table, what] of tables) {
      const rows = this.#database.query<{ rows: bigint }, []>(`SELECT count(*) AS rows FROM ${table}`).get();
      if (Number(rows?.rows ?? 0n) !== this.#full)
        problems.push(`there are ${rows?.rows} summaries of ${what} for ${this.#full} blocks`);
    }
    return problems;
  }

  problemsOf(block: number): string[] {
    if (block >= this.#full) return [];
    const bounds = [block * blockPlants, (block + 1) * blockPlants, block] as const;
    const problems: string[] = [];
    if (this.#names.get(...bounds)?.same !== 1n) problems.push(wrong(block, "names"));
    if (this.#times !== undefined && this.#times.get(...bounds)?.same !== 1n)
      problems.push(wrong(block, "times"));
    return problems;
  }

  // In one query for all blocks: the counts are stored by tag, so those of one block are all over the table.
  #blocksOfWrongTags(): number[] {
    return this.#database
      .query<{ block: bigint }, []>(
        `SELECT DISTINCT window AS block FROM (
           SELECT tag, (seq - 1) / ${blockPlants} AS window, count(*) AS plants FROM plants
            WHERE tag IS NOT NULL AND seq <= (SELECT seq FROM windows_end) GROUP BY window, tag
         ) AS held FULL JOIN tag_windows AS kept USING (tag, window)
         WHERE held.plants IS NOT kept.plants ORDER BY block LIMIT ${blocksMax}`,
      )
      .all()
      .map(({ block }) => Number(block));
  }

  #has(table: string): boolean {
    return (
      this.#database.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table) !==
      null
    );
  }
}

function wrong(block: number, what: string): string {
  const [low, high] = [block * blockPlants + 1, (block + 1) * blockPlants];
  return `the summary of ${what} of block ${block} (plants ${low} to ${high}) does not agree with the plants`;
}
