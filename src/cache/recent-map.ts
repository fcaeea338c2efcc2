/**
 * A map that forgets what has not been used for longest: it holds at most `max` entries, and always the half of them that was used
 * last. It has two generations, each a plain map. When the young one is full it becomes the old one, and the one that was old is
 * forgotten; reading an entry of the old one moves it to the young one.
 *
 * A single map in order of use would delete an entry and add it again at each use. That takes 0.2 ms with 60,000 entries.
 */
export class RecentMap<Key, Value extends NonNullable<unknown>> {
  readonly #generationMax: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  constructor(max: number) {
    this.#generationMax = max / 2;
  }

  get(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: Key, value: Value): void {
    this.#young.set(key, value);
    if (this.#young.size < this.#generationMax) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  delete(key: Key): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
  }

  /** Every entry, in arbitrary order. */
  entries(): Iterable<readonly [Key, Value]> {
    return new Map([...this.#old, ...this.#young]);
  }
}
