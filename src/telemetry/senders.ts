import { RecentMap } from "../cache/recent-map.ts";

/** What a caller has sent to this node since its start. */
export interface Sender {
  readonly name: string;
  /** When its last plant was stored, or found to be stored already; undefined if none was. */
  readonly lastPlantAtMs: number | undefined;
  /** How many of its requests were refused. */
  readonly refusals: number;
  readonly lastRefusalAtMs: number | undefined;
}

// At least half of them, those who sent last, are always known. Callers of an identity provider may be many.
const sendersMax = 2000;

/** Who sends plants, and who is refused: one entry for each name of a token, or of a caller of the identity provider. */
export class Senders {
  readonly #byName = new RecentMap<string, Sender>(sendersMax);

  /** Called once for each batch, with each name once. */
  stored(names: Iterable<string>, atMs: number): void {
    for (const name of names) this.#byName.set(name, { ...this.#find(name), lastPlantAtMs: atMs });
  }

  refused(name: string, atMs: number): void {
    const sender = this.#find(name);
    this.#byName.set(name, { ...sender, refusals: sender.refusals + 1, lastRefusalAtMs: atMs });
  }

  list(): readonly Sender[] {
    return Array.from(this.#byName.entries(), ([, sender]) => sender);
  }

  #find(name: string): Sender {
    return (
      this.#byName.get(name) ?? { name, lastPlantAtMs: undefined, refusals: 0, lastRefusalAtMs: undefined }
    );
  }
}
