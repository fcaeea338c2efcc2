/** A model that also changes by itself, so that whoever shows it has to be told. The hook `useObserved` redraws a component. */
export class Observable {
  readonly #listeners = new Set<() => void>();

  /** Calls back after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  protected notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
