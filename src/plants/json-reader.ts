import {
  backslash,
  carriageReturn,
  closeBrace,
  closeBracket,
  colon,
  comma,
  letterE,
  letterF,
  letterN,
  letterT,
  lineFeed,
  minus,
  nine,
  openBrace,
  openBracket,
  plus,
  point,
  quote,
  space,
  tab,
  zero,
} from "./character-codes.ts";
import { formatPosition, PlantRefusal, type TextPosition } from "./refusals.ts";

export type JsonType = "object" | "array" | "string" | "number" | "boolean" | "null";

const escapes = /^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/;

/**
 * Reads JSON text from left to right, strictly by RFC 8259, and returns numbers as their source text.
 * Throws a PlantRefusal with line and column at the first syntax error. Nothing recurses, so depth costs nothing.
 */
export class JsonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Moves to the next token and returns the type of the value that starts there. */
  peek(): JsonType {
    this.#skipSpace();
    const code = this.#text.charCodeAt(this.#at);
    if (code === quote) return "string";
    if (code === minus || isDigit(code)) return "number";
    if (code === openBrace) return "object";
    if (code === openBracket) return "array";
    if (code === letterT || code === letterF) return "boolean";
    if (code === letterN) return "null";
    throw this.#unexpectedRefusal("a value");
  }

  /** Moves past the brace of an object that `peek` has found. */
  enterObject(): void {
    this.#at++;
  }

  /** The next member's name with its colon read, or undefined once the object has been closed. */
  readMemberName(isFirst: boolean): string | undefined {
    this.#skipSpace();
    const code = this.#text.charCodeAt(this.#at);
    if (code === closeBrace) {
      this.#at++;
      return undefined;
    }
    if (!isFirst) {
      if (code !== comma) throw this.#unexpectedRefusal("a comma or }");
      this.#at++;
      this.#skipSpace();
    }
    if (this.#text.charCodeAt(this.#at) !== quote)
      throw this.#unexpectedRefusal(isFirst ? "a name or }" : "a name");
    const name = this.readString();
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) !== colon) throw this.#unexpectedRefusal(":");
    this.#at++;
    return name;
  }

  readString(): string {
    const text = this.#text;
    const start = this.#at;
    let hasEscapes = false;
    let at = start + 1;
    for (; ; at++) {
      const code = text.charCodeAt(at);
      if (code === quote) break;
      if (code === backslash) {
        hasEscapes = true;
        at = this.#endOfEscape(at);
      } else if (!(code >= space)) {
        // A control character, or NaN past the end of the text.
        this.#at = at;
        throw this.#unexpectedRefusal(
          at < text.length ? "a string without unescaped control characters" : "a closing quote",
        );
      }
    }
    this.#at = at + 1;
    // Raw text comes out of a fatal UTF-8 decoder, so only an escape can produce an unpaired surrogate.
    return hasEscapes ? this.#unescape(start) : text.slice(start + 1, at);
  }

  /** The source text of a number, so that nothing is rounded. */
  readNumber(): string {
    const text = this.#text;
    const start = this.#at;
    if (text.charCodeAt(start) === minus) this.#at++;
    // No digit may follow a leading zero: 01 is not a JSON number.
    if (text.charCodeAt(this.#at) === zero) this.#at++;
    else this.#skipDigits();
    if (text.charCodeAt(this.#at) === point) {
      this.#at++;
      this.#skipDigits();
    }
    // The bit turns a capital letter into a small one.
    if ((text.charCodeAt(this.#at) | 0x20) === letterE) {
      this.#at++;
      const sign = text.charCodeAt(this.#at);
      if (sign === minus || sign === plus) this.#at++;
      this.#skipDigits();
    }
    if (isDigit(text.charCodeAt(this.#at))) throw this.#unexpectedRefusal("the number to end");
    return text.slice(start, this.#at);
  }

  /** Skips one value of any type, checks its syntax, and returns its source text. */
  skip(): string {
    this.#skipSpace();
    const start = this.#at;
    const insideObject: boolean[] = [];
    do {
      const type = this.peek();
      let isFirst = type === "object" || type === "array";
      if (isFirst) {
        this.#at++;
        insideObject.push(type === "object");
      } else {
        this.#skipScalar(type);
      }
      while (insideObject.length > 0 && !this.#moveToNextItem(insideObject.at(-1) === true, isFirst)) {
        insideObject.pop();
        isFirst = false;
      }
    } while (insideObject.length > 0);
    return this.#text.slice(start, this.#at);
  }

  refuseTrailingText(): void {
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpectedRefusal("nothing after the value");
  }

  /** Moves to the container's next item; false once the container has been closed. */
  #moveToNextItem(isInObject: boolean, isFirst: boolean): boolean {
    if (isInObject) return this.readMemberName(isFirst) !== undefined;
    this.#skipSpace();
    const code = this.#text.charCodeAt(this.#at);
    if (isFirst && code !== closeBracket) return true;
    if (code !== comma && code !== closeBracket) throw this.#unexpectedRefusal("a comma or ]");
    this.#at++;
    return code === comma;
  }

  #skipDigits(): void {
    if (!isDigit(this.#text.charCodeAt(this.#at))) throw this.#unexpectedRefusal("a digit");
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at++;
  }

  #skipScalar(type: JsonType): void {
    if (type === "string") this.readString();
    else if (type === "number") this.readNumber();
    else this.#skipLiteral();
  }

  #skipLiteral(): void {
    const word = ["true", "false", "null"].find((literal) => this.#text.startsWith(literal, this.#at));
    if (word === undefined) throw this.#unexpectedRefusal("a value");
    this.#at += word.length;
  }

  /** The last position of the escape that starts here. */
  #endOfEscape(at: number): number {
    const match = escapes.exec(this.#text.slice(at + 1, at + 6));
    if (match === null) {
      this.#at = at;
      throw this.#unexpectedRefusal(String.raw`an escape such as \n, \" or \u0041`);
    }
    return at + match[0].length;
  }

  #unescape(start: number): string {
    const value = JSON.parse(this.#text.slice(start, this.#at)) as string;
    if (value.isWellFormed()) return value;
    const position = this.#positionOf(start);
    const problem = "contains an unpaired surrogate, which is not valid Unicode.";
    const message = `The string at ${formatPosition(position)} ${problem}`;
    throw new PlantRefusal("not-text", message, `The string ${problem}`, position);
  }

  #skipSpace(): void {
    let code = this.#text.charCodeAt(this.#at);
    while (code === space || code === lineFeed || code === carriageReturn || code === tab) {
      this.#at++;
      code = this.#text.charCodeAt(this.#at);
    }
  }

  #unexpectedRefusal(expected: string): PlantRefusal {
    const character = this.#text.codePointAt(this.#at);
    const found = character === undefined ? "the body ends" : `found ${formatCharacter(character)}`;
    const position = this.#positionOf(this.#at);
    return new PlantRefusal(
      "not-json",
      `The body is not valid JSON: at ${formatPosition(position)}, expected ${expected} but ${found}.`,
      `The body is not valid JSON: expected ${expected}${character === undefined ? " but the body ends" : ""}.`,
      position,
    );
  }

  #positionOf(at: number): TextPosition {
    const lines = this.#text.slice(0, at).split(/\r\n|\n|\r/);
    return { line: lines.length, column: Array.from(lines.at(-1) ?? "").length + 1 };
  }
}

function isDigit(code: number): boolean {
  return code >= zero && code <= nine;
}

function formatCharacter(codePoint: number): string {
  const isInvisible = codePoint <= 0x20 || (codePoint >= 0x7f && codePoint <= 0xa0);
  if (!isInvisible) return String.fromCodePoint(codePoint);
  return `U+${codePoint.toString(16).toUpperCase().padStart(4, "0")}`;
}
