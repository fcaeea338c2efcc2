// Stores a batch of plants in one transaction, and returns an outcome for each. A plant that is rejected alone fails alone.
import type { Database, Statement } from "bun:sqlite";
import { differingFields } from "../../../plants/plant.ts";
import {
  created,
  type Outcome,
  OutcomeUnknown,
  type PlantStore,
  type PlantToStore,
  replayed,
} from "../../../plants/plant-store.ts";
import { BlockSummaries } from "../blocks/block-summaries.ts";
import { readPragma, sqliteCodeOf } from "../data-file/connect.ts";
import type { Writer } from "./writer.ts";

// Holds the inner pages of the index of ids for fifty million plants. With SQLite's default of two megabytes, a random id
// needs two reads at ten million plants, with this one.
const cacheKib = 16_000;
// The errors of an INSERT that an index or a trigger raises for one plant: a constraint, RAISE, or a function or an expression
// that fails, such as json() of a name that is not JSON. No other error is about the plant.
const concernsThePlant = /^SQLITE_(?:CONSTRAINT|ERROR|MISMATCH|TOOBIG)/;

/** What became of an INSERT: the row is new, or its id exists, or the row was rejected. */
type Inserted = "inserted" | "exists" | { readonly reason: string };

/** Plants in SQLite. */
export class SqlitePlants implements PlantStore {
  readonly batchesInFlightMax = 1;
  readonly canBecomeUnreachable = false;
  readonly #database: Database;
  readonly #writer: Writer;
  readonly #insert: Statement;
  readonly #select: Statement<{ name: string; tag: string | null }, [bigint]>;
  readonly #summaries: BlockSummaries;
  readonly #rolledBack = () => this.#summaries.reload();

  constructor(database: Database, writer: Writer) {
    this.#database = database;
    this.#writer = writer;
    database.run(`PRAGMA cache_size = -${cacheKib}`);
    this.#summaries = new BlockSummaries(database);
    this.#insert = database.query(
      "INSERT INTO plants (id, name, tag, created_at_ms, created_by) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
    );
    this.#select = database.query("SELECT name, tag FROM plants WHERE id = ?");
  }

  get isStalled(): boolean {
    return this.#writer.isStalled;
  }

  create(batch: readonly PlantToStore[], nowMs: number): Promise<readonly Outcome[]> {
    return this.#writer.transaction(() => {
      const outcomes: Outcome[] = [];
      let plants = 0;
      for (const toStore of batch) {
        const outcome = this.#createOne(toStore, nowMs);
        outcomes.push(outcome);
        if (outcome === created) plants++;
      }
      this.#summaries.summariseIfFull(plants);
      return outcomes;
    }, this.#rolledBack);
  }

  async probe(): Promise<void> {
    // Rewrites the file's header unchanged: a real write and a real fsync.
    await this.#writer.transaction(() =>
      this.#database.run(`PRAGMA user_version = ${readPragma(this.#database, "user_version")}`),
    );
  }

  #createOne(toStore: PlantToStore, nowMs: number): Outcome {
    const { plant } = toStore;
    const inserted = this.#insertOne(toStore, nowMs);
    if (inserted === "inserted") return created;
    const stored = this.#select.get(plant.id);
    if (stored === null && inserted !== "exists") return { kind: "failed", reason: inserted.reason };
    if (stored === null) throw new OutcomeUnknown("A plant was neither stored nor found.");
    const differing = differingFields(plant, { name: stored.name, tag: stored.tag ?? undefined });
    return differing.length === 0 ? replayed : { kind: "conflict", differing };
  }

  /**
   * An index of the operator's own may reject a plant, and so may a trigger that was created after the start, which refuses them.
   * Then SQLite undoes the INSERT of that plant alone, and the transaction goes on. After any other error the transaction must
   * not be committed.
   */
  #insertOne({ plant, createdBy, createdAtMs: ownMs }: PlantToStore, nowMs: number): Inserted {
    const { id, name, tag } = plant;
    try {
      const { changes } = this.#insert.run(id, name, tag ?? null, ownMs ?? nowMs, createdBy);
      return changes > 0 ? "inserted" : "exists";
    } catch (error) {
      const code = sqliteCodeOf(error);
      if (!concernsThePlant.test(code) || !this.#database.inTransaction) throw error;
      const { message } = error as Error;
      return {
        reason: `Plant ${id} was rejected by an index or a trigger that is not plant-store's: ${message} (${code}).`,
      };
    }
  }
}
