import type { Change } from "../../plants/plant-archive.ts";
import type { CursorFile } from "./cursor-file.ts";
import type { FollowedOutcome, FollowTally, FollowTarget } from "./follow-target.ts";
import type { Retry } from "./retry.ts";

/** The result for each plant that was settled; the others are sent again. */
export type Settled = (change: Change, outcome: FollowedOutcome, reason?: string) => void;

/** A store that creates plants, over HTTP or directly. */
export interface PlantSink extends AsyncDisposable {
  /** Throws if some were not settled; sending them again is safe. */
  create(changes: readonly Change[], settled: Settled): Promise<void>;
}

export interface StoreTargetParts {
  readonly sink: PlantSink;
  readonly cursorFile: CursorFile;
  readonly tally: FollowTally;
  readonly retry: Retry;
  readonly report: (line: string) => void;
}

const beginning = "0";
const plantsPerBatch = 1000;
// After a kill, at most what was copied in this time is sent again, and replayed.
const cursorEveryMs = 1000;

/** A second store. Its cursor is in a file, which is written after the plants are durable. */
export class StoreTarget implements FollowTarget {
  readonly staleRemedy: string;
  readonly #parts: StoreTargetParts;
  #last: Change | undefined;
  #writtenMs = performance.now();

  constructor(parts: StoreTargetParts) {
    this.#parts = parts;
    this.staleRemedy = `To send every plant of it again, delete ${parts.cursorFile.path}; what the target has stays as it is.`;
  }

  /** A target that does not have the last plant is not the one that the cursor is about. */
  async resume(): Promise<string> {
    const { cursorFile, report } = this.#parts;
    const last = cursorFile.read();
    if (last === undefined) return beginning;
    let isNew = false;
    await this.#create([last], (_, outcome) => {
      isNew = outcome === "created";
    });
    if (!isNew) return last.cursor;
    report(
      `The target does not have the plant at the cursor in ${cursorFile.path}: starting from the first.`,
    );
    return beginning;
  }

  async store(changes: readonly Change[]): Promise<void> {
    const { tally } = this.#parts;
    for (let at = 0; at < changes.length; at += plantsPerBatch) {
      const batch = changes.slice(at, at + plantsPerBatch);
      await this.#create(batch, (change, outcome, reason) => tally.add(change, outcome, reason));
      this.#last = batch.at(-1);
    }
    if (performance.now() - this.#writtenMs > cursorEveryMs) this.#writeCursor();
  }

  async finish(): Promise<void> {
    this.#writeCursor();
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#parts.sink[Symbol.asyncDispose]();
  }

  async #create(changes: readonly Change[], settled: Settled): Promise<void> {
    const { sink, retry } = this.#parts;
    const left = new Set(changes);
    await retry.run(() =>
      sink.create([...left], (change, outcome, reason) => {
        left.delete(change);
        settled(change, outcome, reason);
      }),
    );
  }

  #writeCursor(): void {
    if (this.#last === undefined) return;
    this.#parts.cursorFile.write(this.#last);
    this.#last = undefined;
    this.#writtenMs = performance.now();
  }
}
