import type { Origin } from "./audit.ts";

const everyMs = 60_000;
const rememberedMax = 1000;

/** Limits the entries for sign-ins to one per minute for each actor and address, so that no token can flood the audit trail. */
export class SignIns {
  /** Oldest first. */
  readonly #recent = new Map<string, { readonly atMs: number; readonly recorded: Promise<void> }>();

  /** Resolves once the entry is durable: its own, or the one of the same minute. */
  async once({ actor, address }: Origin, nowMs: number, record: () => Promise<void>): Promise<void> {
    const key = JSON.stringify([actor, address]);
    const last = this.#recent.get(key);
    if (last !== undefined && nowMs - last.atMs < everyMs) return last.recorded;
    const signIn = { atMs: nowMs, recorded: record() };
    this.#recent.delete(key);
    this.#recent.set(key, signIn);
    for (const oldest of this.#recent.keys()) {
      if (this.#recent.size <= rememberedMax) break;
      this.#recent.delete(oldest);
    }
    try {
      await signIn.recorded;
    } catch (error) {
      if (this.#recent.get(key) === signIn) this.#recent.delete(key);
      throw error;
    }
  }
}
