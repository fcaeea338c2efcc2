import { RecentMap } from "../cache/recent-map.ts";
import { cutText } from "../text/cut-text.ts";
import type { ListenerName } from "./metrics.ts";

/** One error response, and who got it. */
export interface SentError {
  readonly listener: ListenerName;
  readonly error: number;
  /** The name of the sender's token; undefined if it is not known. */
  readonly token: string | undefined;
  /** The sender's address; undefined if its token is known. */
  readonly address: string | undefined;
  readonly message: string;
  readonly requestId: string;
}

/** How often a sender got an error; the other fields are those of the last time. */
export interface RefusedSender extends SentError {
  readonly count: number;
  readonly atMs: number;
}

export const sendersPerErrorMax = 20;
// A message quotes only the beginning of what was sent, so hardly any is this long.
const messageCharactersMax = 1000;

/**
 * For each error, the senders that got it last, since the start. Each error has senders of its own, and each sender has one place
 * among them: neither another error nor one sender removes the rest. What is shown is masked when it is read.
 */
export class RefusedSenders {
  readonly #byError = new Map<number, RecentMap<string, RefusedSender>>();

  record(sent: SentError, atMs: number): void {
    const senders = this.#byError.getOrInsertComputed(
      sent.error,
      () => new RecentMap(2 * sendersPerErrorMax),
    );
    // No token's name starts with a space, so no address is taken for a token.
    const key = sent.token ?? ` ${sent.address}`;
    const count = (senders.get(key)?.count ?? 0) + 1;
    const message = shortCopy(sent.message);
    senders.set(key, { ...sent, message, requestId: shortCopy(sent.requestId), count, atMs });
  }

  /** All of them, the last one that got an error first. */
  list(): readonly RefusedSender[] {
    const lists = Array.from(this.#byError.values(), (senders) =>
      Array.from(senders.entries(), ([, sender]) => sender)
        .sort(byTime)
        .slice(0, sendersPerErrorMax),
    );
    return lists.flat().sort(byTime);
  }
}

function byTime(one: RefusedSender, other: RefusedSender): number {
  return other.atMs - one.atMs;
}

/** A text may be a part of a request's head, all of which would stay in memory with it. */
function shortCopy(text: string): string {
  return Buffer.from(cutText(text, messageCharactersMax)).toString();
}
