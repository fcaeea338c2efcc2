import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  isSpace,
  newline,
  openBrace,
  openBracket,
  quote,
} from "./bytes.ts";

/** Finds where one element of a JSON array ends, over any number of chunks. */
export class ElementScanner {
  readonly #depthMax: number;
  /** Which brackets are open, the outermost first: true is a brace. */
  readonly #open: boolean[] = [];
  /** How many more are open than #open records; such an element is too long anyway. */
  #deeper = 0;
  #inString = false;
  #escaped = false;
  #previous = 0;

  constructor(depthMax: number) {
    this.#depthMax = depthMax;
  }

  /**
   * The position of the byte that ends the element, or -1 if it continues. That byte is the comma or bracket after it. It
   * may also be one that is invalid there and shows where to resume: a line break inside a string, or a
   * brace that opens where an object needs its next name.
   */
  find(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (this.#inString ? this.#endsInString(byte) : this.#ends(byte)) return at;
    }
    return -1;
  }

  #endsInString(byte: number): boolean {
    if (byte === newline) return true;
    if (this.#escaped) this.#escaped = false;
    else if (byte === backslash) this.#escaped = true;
    else if (byte === quote) this.#inString = false;
    return false;
  }

  #ends(byte: number): boolean {
    if (byte === quote) this.#inString = true;
    else if (byte === openBrace || byte === openBracket) {
      const wantsName = this.#previous === comma && this.#open.at(-1) === true && this.#deeper === 0;
      if (wantsName && byte === openBrace) return true;
      if (this.#open.length < this.#depthMax) this.#open.push(byte === openBrace);
      else this.#deeper++;
    } else if (byte === closeBrace || byte === closeBracket) {
      if (this.#open.length === 0 && byte === closeBracket) return true;
      if (this.#deeper > 0) this.#deeper--;
      else this.#open.pop();
    } else if (byte === comma && this.#open.length === 0) return true;
    if (!isSpace(byte)) this.#previous = byte;
    return false;
  }
}
