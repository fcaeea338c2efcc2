import { beginningOf, type Order, type SeqRange } from "../blocks/blocks.ts";

const sliceSeqsMin = 64;
const sliceSeqsMax = 100_000;
const sliceMsWanted = 25;

/**
 * Goes through a range in slices, each a short transaction: a long one would keep the WAL from restarting, and could not be
 * interrupted. The size of the slices adapts to how long they take.
 */
export class Scan {
  readonly #order: Order;
  readonly #shorten: (slice: SeqRange) => SeqRange;
  // What is left of the range.
  #low: number;
  #high: number;
  #sliceSeqs = sliceSeqsMin;
  #sliceStartedMs = 0;

  /** `shorten` returns the part of a slice, from where the scan enters it, that can be read at once. */
  constructor(
    { low, high }: SeqRange,
    order: Order,
    shorten: (slice: SeqRange) => SeqRange = (slice) => slice,
  ) {
    this.#low = low;
    this.#high = high;
    this.#order = order;
    this.#shorten = shorten;
  }

  /** The slices of what is left, until the time is over, but at least one. `advancePast` must be called for each. */
  *slices(msMax: number): Generator<SeqRange, void, void> {
    const deadlineMs = performance.now() + msMax;
    while (this.#low <= this.#high) {
      this.#sliceStartedMs = performance.now();
      yield this.#shorten(beginningOf({ low: this.#low, high: this.#high }, this.#sliceSeqs, this.#order));
      if (performance.now() > deadlineMs) return;
    }
  }

  /** To be called when the slice was read, entirely or up to that plant. Returns how many plants it passed. */
  advancePast({ low, high }: SeqRange, upTo?: bigint): number {
    this.#adaptSize(performance.now() - this.#sliceStartedMs);
    if (this.#order === "newest-first") {
      const end = Number(upTo ?? low);
      this.#high = end - 1;
      return high - end + 1;
    }
    const end = Number(upTo ?? high);
    this.#low = end + 1;
    return end - low + 1;
  }

  /** The cursor of what is left: the seq of the last plant that was passed. Undefined at the end. */
  get cursor(): string | undefined {
    if (this.#low > this.#high) return undefined;
    return String(this.#order === "newest-first" ? this.#high + 1 : this.#low - 1);
  }

  #adaptSize(tookMs: number): void {
    if (tookMs > 2 * sliceMsWanted) this.#sliceSeqs = Math.max(sliceSeqsMin, Math.floor(this.#sliceSeqs / 4));
    else if (tookMs < sliceMsWanted) this.#sliceSeqs = Math.min(sliceSeqsMax, this.#sliceSeqs * 4);
  }
}
