import {
  type FirstToken,
  type FirstTokenDelivery,
  issueFirstToken,
  mintFirstToken,
  type WriteNew,
} from "./first-token.ts";
import { findPreset, type Gate } from "./gate.ts";
import type { TokenStore, TokenUse } from "./tokens.ts";

export interface TokenUpkeepEvents {
  readonly tokensChanged: (count: number) => void;
  readonly tokensUnreadable: (reason: unknown) => void;
  readonly presetIsStored: (preset: string, stored: string) => void;
  readonly usesNotWritten: (reason: unknown) => void;
}

export interface TokenUpkeepParts {
  readonly tokens: TokenStore;
  readonly gate: Gate;
  readonly delivery: FirstTokenDelivery;
  readonly writeNew: WriteNew;
  readonly events: TokenUpkeepEvents;
}

// At this rate a revoked token is refused well within a second.
const tokensPollEveryMs = 250;
const usesFlushEveryMs = 60_000;

/** Keeps the gate up to date with the store, and the store with the uses of tokens. */
export class TokenUpkeep implements AsyncDisposable {
  readonly #parts: TokenUpkeepParts;
  readonly #uses: TokenUses;
  readonly #first = mintFirstToken();
  readonly #timers: NodeJS.Timeout[] = [];
  #stopped = false;

  constructor(parts: TokenUpkeepParts) {
    this.#parts = parts;
    const { tokens, gate, events } = parts;
    this.#uses = new TokenUses(tokens, () => gate.takeUses(), events.usesNotWritten);
  }

  /** Reads the tokens once the store is open, and creates the first one. After a failure it may be called again. */
  async start(): Promise<FirstToken | undefined> {
    const { tokens, gate, delivery, writeNew, events } = this.#parts;
    // Before the rows: a change in between is then found by the next poll.
    const version = await tokens.version();
    const created =
      gate.presets.length > 0 ? undefined : await issueFirstToken(tokens, this.#first, delivery, writeNew);
    const known = await tokens.all();
    gate.update(known);
    for (const token of known) {
      const preset = findPreset([token], gate.presets);
      if (preset !== undefined) events.presetIsStored(preset.name, token.name);
    }
    this.#every(tokensPollEveryMs, watchTokens(tokens, version, gate, events));
    this.#every(usesFlushEveryMs, () => this.#uses.flush());
    return created;
  }

  /** Applies a change that this process has made. */
  async reload(): Promise<void> {
    this.#parts.gate.update(await this.#parts.tokens.all());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#uses.flush();
  }

  #every(intervalMs: number, poll: () => unknown): void {
    if (!this.#stopped) this.#timers.push(setInterval(poll, intervalMs));
  }
}

/** Collects when tokens were last used, and writes that in the background. */
export class TokenUses {
  readonly #tokens: Pick<TokenStore, "recordUses">;
  readonly #collect: () => readonly TokenUse[];
  readonly #onFailed: (reason: unknown) => void;
  #pending = new Map<string, number>();

  constructor(
    tokens: Pick<TokenStore, "recordUses">,
    collect: () => readonly TokenUse[],
    onFailed: (reason: unknown) => void,
  ) {
    this.#tokens = tokens;
    this.#collect = collect;
    this.#onFailed = onFailed;
  }

  /** What cannot be written now is part of the next flush. Never rejects. */
  async flush(): Promise<void> {
    try {
      for (const { digest, atMs } of this.#collect()) this.#pending.set(digest, atMs);
      const pending = Array.from(this.#pending, ([digest, atMs]) => ({ digest, atMs }));
      if (pending.length === 0) return;
      await this.#tokens.recordUses(pending);
      for (const { digest, atMs } of pending)
        if (this.#pending.get(digest) === atMs) this.#pending.delete(digest);
    } catch (error) {
      this.#onFailed(error);
    }
  }
}

/** Returns a poll function, which tells the gate of every change of the stored tokens, whoever made it. */
function watchTokens(
  tokens: TokenStore,
  firstSeen: string,
  gate: Gate,
  events: TokenUpkeepEvents,
): () => Promise<void> {
  let seen = firstSeen;
  let polling = false;
  let readable = true;
  return async () => {
    // A slow database gets one query at a time, and an outage is logged once.
    if (polling) return;
    polling = true;
    try {
      // Before the rows: a change in between is then found by the next poll.
      const version = await tokens.version();
      if (version !== seen) {
        const all = await tokens.all();
        gate.update(all);
        seen = version;
        events.tokensChanged(all.length);
      }
      readable = true;
    } catch (error) {
      if (readable) events.tokensUnreadable(error);
      readable = false;
    } finally {
      polling = false;
    }
  };
}
