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
  /** Whether the service made the request id; otherwise the client did. */
  readonly requestIdIsMinted: boolean;
}

/** How often a sender got an error; the other fields are those of the last time. */
export interface RefusedSender extends SentError {
  readonly count: number;
  readonly atMs: number;
}

interface Entry {
  count: number;
  listener: SentError["listener"];
  message: string;
  /** A copy in ASCII: the string may be a part of a request's head, all of which would stay in memory with it. */
  readonly requestId: Buffer;
  requestIdLength: number;
  requestIdIsMinted: boolean;
  atMs: number;
}

export const sendersPerErrorMax = 20;
// No listener accepts a longer one.
const requestIdCharactersMax = 64;
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
    const entry = entryOf(senders, sent.token ?? addressMark + sent.address);
    entry.count++;
    entry.listener = sent.listener;
    entry.message = shortMessage(sent.message);
    entry.requestIdLength = entry.requestId.write(sent.requestId, "latin1");
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
    requestId: entry.requestId.toString("latin1", 0, entry.requestIdLength),
    requestIdIsMinted: entry.requestIdIsMinted,
    atMs: entry.atMs,
    count: entry.count,
  };
}

/** The entry of that sender, which becomes the last one. If there are too many, a new sender gets that of the first. */
function entryOf(senders: Map<string, Entry>, sender: string): Entry {
  const known = senders.get(sender);
  if (known !== undefined) {
    senders.delete(sender);
    senders.set(sender, known);
    return known;
  }
  const isFull = senders.size >= sendersPerErrorMax;
  const entry = (isFull ? removeFirst(senders) : undefined) ?? newEntry();
  entry.count = 0;
  senders.set(sender, entry);
  return entry;
}

function newEntry(): Entry {
  return {
    count: 0,
    listener: "public",
    message: "",
    requestId: Buffer.alloc(requestIdCharactersMax),
    requestIdLength: 0,
    requestIdIsMinted: true,
    atMs: 0,
  };
}

function removeFirst(senders: Map<string, Entry>): Entry | undefined {
  const first = senders.entries().next().value;
  if (first === undefined) return undefined;
  const [sender, entry] = first;
  senders.delete(sender);
  return entry;
}

function shortMessage(message: string): string {
  return message.length <= messageCharactersMax
    ? message
    : // A copy, which does not keep the whole message in memory.
      Buffer.from(cutText(message, messageCharactersMax)).toString();
}
