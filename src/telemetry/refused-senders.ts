import { cutText } from "../text/cut-text.ts";
import type { ListenerName } from "./counters.ts";

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
  /** Whether the service made the request id; otherwise the client did. */
  readonly requestIdIsMinted: boolean;
}

/** How often a sender got an error. All the rest is that of the last time. */
export interface RefusedSender extends SentError {
  readonly count: number;
  readonly atMs: number;
}

interface Entry {
  count: number;
  listener: SentError["listener"];
  message: string;
  requestId: string;
  requestIdIsMinted: boolean;
  atMs: number;
}

export const sendersPerErrorMax = 20;
// A message quotes only the beginning of what was sent, so hardly any is this long.
const messageCharactersMax = 1000;

/**
 * For each error, the senders that got it last, since the start. Each error has senders of its own, and each sender has one place
 * among them: neither another error nor one sender removes the rest. What it holds is bounded: by the number of errors, and by
 * the lengths of a sender (64 characters), a message and a request id (64). A refusal pays for little more than a look-up; what
 * is shown is masked when it is read.
 */
export class RefusedSenders {
  /** The entries of each error, by sender. The sender that got the error last is the last one. */
  readonly #byError = new Map<number, Map<string, Entry>>();

  record(sent: SentError, atMs: number): void {
    const senders = this.#sendersOf(sent.error);
    const sender = sent.token ?? addressMark + sent.address;
    const known = senders.get(sender);
    if (known !== undefined) senders.delete(sender);
    else if (senders.size >= sendersPerErrorMax) removeFirst(senders);
    const entry = known ?? newEntry();
    senders.set(sender, entry);
    entry.count++;
    entry.listener = sent.listener;
    entry.message = shortMessage(sent.message);
    // A client's own id is a part of its request's head, all of which would stay in memory with it. It is ASCII.
    entry.requestId = sent.requestIdIsMinted ? sent.requestId : copyOf(sent.requestId, "latin1");
    entry.requestIdIsMinted = sent.requestIdIsMinted;
    entry.atMs = atMs;
  }

  /** All of them, the last one that got an error first. */
  list(): readonly RefusedSender[] {
    return Array.from(this.#byError, ([error, senders]) =>
      Array.from(senders, ([sender, entry]) => refusedSender(error, sender, entry)).reverse(),
    )
      .flat()
      .sort((one, other) => other.atMs - one.atMs);
  }

  #sendersOf(error: number): Map<string, Entry> {
    const known = this.#byError.get(error);
    if (known !== undefined) return known;
    const senders = new Map<string, Entry>();
    this.#byError.set(error, senders);
    return senders;
  }
}

// No token's name starts with a space, so no address is taken for a token.
const addressMark = " ";

function refusedSender(error: number, sender: string, entry: Entry): RefusedSender {
  const isAddress = sender.startsWith(addressMark);
  return {
    listener: entry.listener,
    error,
    token: isAddress ? undefined : sender,
    address: isAddress ? sender.slice(addressMark.length) : undefined,
    message: entry.message,
    requestId: entry.requestId,
    requestIdIsMinted: entry.requestIdIsMinted,
    atMs: entry.atMs,
    count: entry.count,
  };
}

function newEntry(): Entry {
  return {
    count: 0,
    listener: "public",
    message: "",
    requestId: "",
    requestIdIsMinted: true,
    atMs: 0,
  };
}

function removeFirst(senders: Map<string, Entry>): void {
  const first = senders.keys().next().value;
  if (first !== undefined) senders.delete(first);
}

function shortMessage(message: string): string {
  return message.length <= messageCharactersMax
    ? message
    : copyOf(cutText(message, messageCharactersMax), "utf8");
}

/** A string that keeps no longer one in memory, of which it is a part. */
function copyOf(text: string, encoding: "latin1" | "utf8"): string {
  return Buffer.from(text, encoding).toString(encoding);
}
