import type { Token, TokenStore } from "./tokens.ts";

export interface TokenWatchEvents {
  readonly tokensChanged: (count: number) => void;
  readonly tokensUnreadable: (reason: unknown) => void;
}

/** To be called again and again: gives every change of the stored tokens on, whoever made it. */
export function watchTokens(
  tokens: TokenStore,
  firstSeen: string,
  take: (changed: readonly Token[]) => void,
  events: TokenWatchEvents,
): () => Promise<void> {
  let seen = firstSeen;
  let looking = false;
  let readable = true;
  return async () => {
    // A database that is slow to answer is not asked again meanwhile, and an outage is logged once.
    if (looking) return;
    looking = true;
    try {
      // Before the rows: a change in between is then seen as one that came after.
      const version = await tokens.version();
      if (version !== seen) {
        const all = await tokens.all();
        take(all);
        seen = version;
        events.tokensChanged(all.length);
      }
      readable = true;
    } catch (error) {
      if (readable) events.tokensUnreadable(error);
      readable = false;
    } finally {
      looking = false;
    }
  };
}
