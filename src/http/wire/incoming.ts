import type { Socket } from "bun";
import { carriageReturn, lineFeed } from "../../plants/character-codes.ts";
import type { ArrivingBody, BodyReceiver, ReceivedBody } from "./body.ts";
import { findFaultSoFar, type Head, type Heads } from "./head.ts";
import { WireFault } from "./wire-fault.ts";

const headBytesMax = 16 * 1024;
// How many consumed bytes may stay in memory, if they are more than what is left.
const consumedBytesMax = 4 * 1024;
const headTooLargeFault = new WireFault(
  "head-too-large",
  `The request line and headers are over the limit of ${headBytesMax} bytes.`,
);
const headEnd = Buffer.from("\r\n\r\n");
const emptyBuffer = Buffer.alloc(0);

/** Bytes that have arrived and are not consumed yet: the next head, its body, and requests pipelined after it. */
export class Incoming {
  readonly #socket: Pick<Socket, "pause" | "resume">;
  #isPaused = false;
  #bytes: Buffer = emptyBuffer;
  /** Bytes before this are consumed. An index, since a view of the rest would cost as much as reading the head. */
  #start = 0;
  /** How many bytes of an incomplete head are known to be valid. */
  #checkedBytes = 0;

  constructor(socket: Pick<Socket, "pause" | "resume">) {
    this.#socket = socket;
  }

  get length(): number {
    return this.#bytes.length - this.#start;
  }

  push(bytes: Buffer): void {
    this.#replace(this.length === 0 ? bytes : Buffer.concat([this.#bytes.subarray(this.#start), bytes]));
  }

  /** Moves what has arrived to a body. Returns that once it is complete; what follows it stays here. */
  moveTo(body: ArrivingBody): ReceivedBody | WireFault | undefined {
    const bytes = this.#bytes.subarray(this.#start);
    const received = body.push(bytes);
    const isComplete = received !== undefined && !(received instanceof WireFault);
    this.#consume(isComplete ? bytes.length - received.rest.length : bytes.length);
    return received;
  }

  /** Gives a body that has arrived to its receiver. */
  takeBody(length: number, receiver: BodyReceiver): void {
    const bytes = this.#bytes;
    const start = this.#start;
    this.#consume(length);
    receiver.bodyReceived(bytes, start, start + length);
  }

  clear(): void {
    this.#replace(emptyBuffer);
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /**
   * The next request's head, undefined while it is incomplete. The result must not depend on how TCP segmented the bytes: an
   * error counts where it is, not when it is seen.
   */
  readHead(heads: Heads, isStranger: boolean): Head | WireFault | undefined {
    this.#skipEmptyLines();
    const start = this.#start;
    const end = this.#bytes.indexOf(headEnd, start);
    if (end < 0 || end - start > headBytesMax) return this.#checkIncompleteHead();
    const head = heads.read(this.#bytes, start, end, isStranger);
    if (head instanceof WireFault)
      return findFaultSoFar(this.#bytes.subarray(start, end + headEnd.length), 0) ?? head;
    this.#consume(end + headEnd.length - start);
    this.#checkedBytes = 0;
    return head;
  }

  /** A client may send an empty line after a request (RFC 9112, 2.2). */
  #skipEmptyLines(): void {
    while (this.#bytes[this.#start] === carriageReturn && this.#bytes[this.#start + 1] === lineFeed) {
      this.#start += 2;
      this.#checkedBytes = 0;
    }
  }

  #checkIncompleteHead(): WireFault | undefined {
    const seen = this.#bytes.subarray(this.#start, this.#start + headBytesMax + headEnd.length);
    const fault = findFaultSoFar(seen, this.#checkedBytes);
    if (fault !== undefined) return fault;
    if (seen.length === headBytesMax + headEnd.length) return headTooLargeFault;
    this.#checkedBytes = seen.length;
    return undefined;
  }

  #replace(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#start = 0;
  }

  /**
   * What is left is copied if less than half is: a view would keep alive everything that arrived with it, up to half a megabyte. A
   * byte is copied once on average.
   */
  #consume(length: number): void {
    this.#start += length;
    if (this.length === 0) this.clear();
    else if (this.#start > consumedBytesMax && this.#start > this.length)
      this.#replace(Buffer.from(this.#bytes.subarray(this.#start)));
  }
}
