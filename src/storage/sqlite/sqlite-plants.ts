import type { Database, Statement } from "bun:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { differingFields } from "../../plants/plant.ts";
import {
  type Arrival,
  type Outcome,
  type PlantStore,
  StoreUnavailable,
  StoreUncertain,
} from "../../plants/plant-store.ts";
import type { Checkpointer } from "./checkpointer.ts";
import { readPragma } from "./read-pragma.ts";
import { Windows } from "./windows.ts";
import { codeOf, isLocked, lockRetryMs, lockWaitMsMax } from "./write-lock.ts";

// Room for the inner pages of the index of ids, also of fifty million. With SQLite's own two megabytes an id in no order
// costs two reads at ten million plants, and with this one.
const cacheKib = 16_000;
const created: Outcome = { kind: "created" };
const replayed: Outcome = { kind: "replayed" };

/** Plants in SQLite. The one writer of its process. */
export class SqlitePlants implements PlantStore {
  readonly batchesInFlightMax = 1;
  readonly mayVanish = false;
  readonly #database: Database;
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #insert: Statement;
  readonly #select: Statement<{ name: string; tag: string | null }, [bigint]>;
  readonly #checkpointer: Checkpointer;
  readonly #windows: Windows;
  #lastCreatedAtMs: number;

  constructor(database: Database, checkpointer: Checkpointer) {
    this.#database = database;
    this.#checkpointer = checkpointer;
    // A plant left in the WAL by a crash may still be only in the page cache, where a replay would find it and be
    // answered, and a power cut would take it. Bringing the WAL into the database fsyncs it, before the first answer.
    bringInLog(database);
    database.run("PRAGMA busy_timeout = 0");
    database.run(`PRAGMA cache_size = -${cacheKib}`);
    this.#windows = new Windows(database);
    this.#begin = database.query("BEGIN IMMEDIATE");
    this.#commit = database.query("COMMIT");
    this.#insert = database.query(
      "INSERT INTO plants (id, name, tag, created_at_ms, created_by) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
    );
    this.#select = database.query("SELECT name, tag FROM plants WHERE id = ?");
    const newest = database.query<{ created_at_ms: bigint }, []>(
      "SELECT created_at_ms FROM plants ORDER BY seq DESC LIMIT 1",
    );
    this.#lastCreatedAtMs = Number(newest.get()?.created_at_ms ?? 0n);
  }

  create(batch: readonly Arrival[], nowMs: number): Promise<readonly Outcome[]> {
    return this.#write(() => {
      const outcomes = batch.map((arrival) => this.#createOne(arrival, nowMs));
      this.#windows.stored(outcomes.filter((outcome) => outcome === created).length);
      return outcomes;
    });
  }

  async probe(): Promise<void> {
    // Rewrites the file's header as it is: a real write and a real fsync that change nothing.
    await this.#write(() =>
      this.#database.run(`PRAGMA user_version = ${readPragma(this.#database, "user_version")}`),
    );
  }

  #createOne({ plant, createdBy, createdAtMs: ownMs }: Arrival, nowMs: number): Outcome {
    // A clock that is set back does not turn the order around: the time of a plant is found by its place.
    const createdAtMs = Math.max(ownMs ?? nowMs, this.#lastCreatedAtMs);
    const { changes } = this.#insert.run(plant.id, plant.name, plant.tag ?? null, createdAtMs, createdBy);
    if (changes > 0) {
      this.#lastCreatedAtMs = createdAtMs;
      return created;
    }
    const stored = this.#select.get(plant.id);
    if (stored === null) throw new StoreUncertain("a plant was neither stored nor found");
    const differing = differingFields(plant, { name: stored.name, tag: stored.tag ?? undefined });
    return differing.length === 0 ? replayed : { kind: "taken", differing };
  }

  async #write<Result>(work: () => Result): Promise<Result> {
    for (let waitedMs = 0; !this.#begun(); waitedMs += lockRetryMs) {
      if (waitedMs >= lockWaitMsMax) throw new StoreUnavailable("another process keeps the data file locked");
      await sleep(lockRetryMs);
    }
    const result = this.#committed(work);
    this.#checkpointer.committed();
    return result;
  }

  #committed<Result>(work: () => Result): Result {
    try {
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      throw this.#undone(error);
    }
  }

  #begun(): boolean {
    try {
      this.#begin.run();
      return true;
    } catch (error) {
      if (isLocked(error)) return false;
      throw failure(error);
    }
  }

  #undone(error: unknown): Error {
    try {
      if (this.#database.inTransaction) this.#database.run("ROLLBACK");
      this.#windows.reload();
    } catch (rollbackError) {
      return new StoreUncertain(`rolling back failed too: ${String(rollbackError)}`, { cause: error });
    }
    return failure(error);
  }
}

function bringInLog(database: Database): void {
  let busy: bigint | undefined;
  try {
    busy = database.query<{ busy: bigint }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy;
  } catch (error) {
    throw new StoreUnavailable(
      `the log cannot be brought into the data file (${codeOf(error) || String(error)})`,
      {
        cause: error,
      },
    );
  }
  if (busy !== 0n) throw new StoreUnavailable("the data file is in use and its log cannot be brought in");
}

// A full disk is noticed while writing the log, before the commit record is whole, so nothing was stored. Any other
// failure may have come after it: whether the batch is stored is then for recovery to say.
function failure(error: unknown): Error {
  const code = codeOf(error);
  if (code === "SQLITE_FULL") return new StoreUnavailable("the disk is full", { cause: error });
  return new StoreUncertain(`writing failed with ${code || String(error)}`, { cause: error });
}
