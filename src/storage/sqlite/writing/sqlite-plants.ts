import type { Database, Statement } from "bun:sqlite";
import { differingFields } from "../../../plants/plant.ts";
import { type Arrival, type Outcome, OutcomeUnknown, type PlantStore } from "../../../plants/plant-store.ts";
import { BlockSummaries } from "../block-summaries.ts";
import { readPragma } from "../connect.ts";
import type { Writer } from "./writer.ts";

// Holds the inner pages of the index of ids for fifty million plants. With SQLite's default of two megabytes, a random id
// needs two reads at ten million plants, with this one.
const cacheKib = 16_000;
const created: Outcome = { kind: "created" };
const replayed: Outcome = { kind: "replayed" };

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

  create(batch: readonly Arrival[], nowMs: number): Promise<readonly Outcome[]> {
    return this.#writer.transaction(() => {
      const outcomes = batch.map((arrival) => this.#createOne(arrival, nowMs));
      this.#summaries.stored(outcomes.filter((outcome) => outcome === created).length);
      return outcomes;
    }, this.#rolledBack);
  }

  async probe(): Promise<void> {
    // Rewrites the file's header unchanged: a real write and a real fsync.
    await this.#writer.transaction(() =>
      this.#database.run(`PRAGMA user_version = ${readPragma(this.#database, "user_version")}`),
    );
  }

  #createOne({ plant, createdBy, createdAtMs: ownMs }: Arrival, nowMs: number): Outcome {
    const { changes } = this.#insert.run(plant.id, plant.name, plant.tag ?? null, ownMs ?? nowMs, createdBy);
    if (changes > 0) return created;
    const stored = this.#select.get(plant.id);
    if (stored === null) throw new OutcomeUnknown("a plant was neither stored nor found");
    const differing = differingFields(plant, { name: stored.name, tag: stored.tag ?? undefined });
    return differing.length === 0 ? replayed : { kind: "conflict", differing };
  }
}
