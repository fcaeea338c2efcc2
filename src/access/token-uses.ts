import type { TokenStore, TokenUse } from "./tokens.ts";

/** At most this often, a token's last use is written. */
export const usesFlushEveryMs = 60_000;

/** Collects when tokens were last used, on all threads, and writes that in the background. */
export class TokenUses {
  readonly #tokens: Pick<TokenStore, "recordUses">;
  readonly #collect: () => Promise<readonly TokenUse[]>;
  readonly #onFailed: (reason: unknown) => void;
  #pending = new Map<string, number>();

  constructor(
    tokens: Pick<TokenStore, "recordUses">,
    collect: () => Promise<readonly TokenUse[]>,
    onFailed: (reason: unknown) => void,
  ) {
    this.#tokens = tokens;
    this.#collect = collect;
    this.#onFailed = onFailed;
  }

  /** What cannot be written now is part of the next flush. Never rejects. */
  async flush(): Promise<void> {
    try {
      this.add(await this.#collect());
      const pending = Array.from(this.#pending, ([digest, atMs]) => ({ digest, atMs }));
      if (pending.length === 0) return;
      await this.#tokens.recordUses(pending);
      for (const { digest, atMs } of pending)
        if (this.#pending.get(digest) === atMs) this.#pending.delete(digest);
    } catch (error) {
      this.#onFailed(error);
    }
  }

  add(uses: readonly TokenUse[]): void {
    for (const { digest, atMs } of uses)
      this.#pending.set(digest, Math.max(atMs, this.#pending.get(digest) ?? 0));
  }
}
