import type { Token, TokenStore } from "./tokens.ts";

export interface TokenWatchEvents {
  readonly tokensChanged: (count: number) => void;
  readonly tokensUnreadable: (reason: unknown) => void;
}

/** Returns a poll function, which reports every change of the stored tokens, whoever made it. */
export function watchTokens(
  tokens: TokenStore,
  firstSeen: string,
  onChange: (changed: readonly Token[]) => void,
  events: TokenWatchEvents,
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
        onChange(all);
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
