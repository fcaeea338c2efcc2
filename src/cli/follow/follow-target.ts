import type { Change } from "../../plants/plant-archive.ts";

/** Where the plants of another store are copied to. */
export interface FollowTarget extends AsyncDisposable {
  /** What to do if the source has been restored. */
  readonly staleRemedy: string;
  /** The cursor after the last plant that it has; "0" where it has none. */
  resume(): Promise<string>;
  /**
   * Stores the plants; when it resolves, they are durable. Called with none from time to time while none are waiting.
   * @throws Stopped
   */
  store(changes: readonly Change[]): Promise<void>;
  /** Completes what `store` may leave for later. */
  finish(): Promise<void>;
}

/** The outcomes so far. */
export interface FollowCounts {
  created: number;
  replayed: number;
  /** The target has another plant with the id; that one is unchanged. */
  conflicts: number;
  /** The target refuses them. */
  refused: number;
}

export type FollowedOutcome = keyof { [Kind in "created" | "replayed" | "conflict" | "refused"]: 0 };

/** Counts outcomes, and reports what the target does not have. */
export class FollowTally {
  readonly counts: FollowCounts = { created: 0, replayed: 0, conflicts: 0, refused: 0 };
  readonly #report: (line: string) => void;

  constructor(report: (line: string) => void) {
    this.#report = report;
  }

  add({ plant }: Change, outcome: FollowedOutcome, reason = ""): void {
    if (outcome === "created") this.counts.created++;
    else if (outcome === "replayed") this.counts.replayed++;
    else if (outcome === "conflict") {
      this.counts.conflicts++;
      this.#report(`conflict: ${reason || `the target has another plant with the id ${plant.id}.`}`);
    } else {
      this.counts.refused++;
      this.#report(`The target refuses the plant with the id ${plant.id}: ${reason}`);
    }
  }
}
