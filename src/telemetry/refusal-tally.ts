/** Error responses with one number to one caller. */
export interface RefusalCount {
  readonly error: number;
  /** The caller's name; empty if it is not known. */
  readonly token: string;
  readonly count: number;
}

// Only callers with a token are named, so nobody else can add names; this bounds even those.
const keysMax = 1000;

/** Counts error responses until they are collected. */
export class RefusalTally {
  #counts = new Map<string, { error: number; token: string; count: number }>();

  add(error: number, token = ""): void {
    const key = `${error} ${token}`;
    const known = this.#counts.get(key);
    if (known !== undefined) known.count++;
    else if (this.#counts.size < keysMax) this.#counts.set(key, { error, token, count: 1 });
    else if (token !== "") this.add(error);
  }

  /** Those since the last call. */
  take(): readonly RefusalCount[] {
    const counts = [...this.#counts.values()];
    this.#counts = new Map();
    return counts;
  }
}
