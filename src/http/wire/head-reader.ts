import { type Head, lengthShape, parseHead } from "./head.ts";
import { NotHttp } from "./not-http.ts";

const lengthLine = /\r\ncontent-length:[ \t]*(\d+)/i;
// If every head has its own id, caching them gains nothing and costs a quarter of parsing them. So after `differingMax`
// different ones in a row, only one in `rememberedOneIn` is cached.
const differingMax = 4;
const rememberedOneIn = 64;

/**
 * Reads the heads of one connection. A client's next head mostly differs from its last only in the content-length, and
 * then need not be parsed again.
 */
export class HeadReader {
  #head: Head | undefined;
  /** The text of that head; undefined if it is not cached. */
  #text: string | undefined;
  #differing = 0;
  /** The text before and after the digits of the length; all of it is before if there is no length. */
  #before: string | undefined;
  #after = "";

  /** The head from `start` to `end` of the bytes, where the empty line begins. */
  read(bytes: Buffer, start: number, end: number): Head | NotHttp {
    const text = bytes.toString("latin1", start, end);
    const reused = this.#reuse(text);
    if (reused === undefined) return this.#parse(text, bytes, start);
    this.#differing = 0;
    return reused;
  }

  #reuse(text: string): Head | undefined {
    const head = this.#head;
    const before = this.#before;
    if (text === this.#text) return head;
    if (before === undefined || !text.startsWith(before) || !text.endsWith(this.#after)) return undefined;
    const between = text.slice(before.length, text.length - this.#after.length);
    if (head?.contentLength === undefined || !lengthShape.test(between)) return undefined;
    this.#head = head.withContentLength(Number(between));
    this.#text = text;
    return this.#head;
  }

  #parse(text: string, bytes: Buffer, start: number): Head | NotHttp {
    const head = parseHead(text, bytes, start, this.#head);
    if (head instanceof NotHttp) return head;
    this.#head = head;
    this.#differing++;
    if (this.#differing > differingMax && this.#differing % rememberedOneIn !== 0) {
      this.#text = undefined;
      this.#before = undefined;
      return head;
    }
    this.#text = text;
    const line = lengthLine.exec(text);
    const digits = line?.[1]?.length ?? 0;
    const end = line === null ? text.length : line.index + line[0].length;
    this.#before = text.slice(0, end - digits);
    this.#after = text.slice(end);
    return head;
  }
}
