import { closeSync, openSync, writeSync } from "node:fs";
import type { Row } from "../../files/row.ts";
import type { Format } from "../../files/rows-of.ts";
import { fileTrouble } from "../file-trouble.ts";
import { InputProblem } from "./input.ts";

const gatheredBytesMax = 64 * 1024;
const newline = Buffer.from("\n");

/** Refused rows, as they came and in the input's format, so that they can be mended and imported again. */
export class RefusedFile implements Disposable {
  readonly path: string;
  readonly #file: number;
  readonly #format: Format;
  readonly #heading: () => Uint8Array | undefined;
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;
  #rows = 0;

  /** The heading is asked for only when it is written, since a CSV's header must have been read by then. */
  constructor(path: string, format: Format, heading: () => Uint8Array | undefined) {
    this.path = path;
    this.#format = format;
    this.#heading = heading;
    try {
      this.#file = openSync(path, "w", 0o600);
    } catch (error) {
      throw new InputProblem(`${path} cannot be written to: ${fileTrouble(error)}.`);
    }
  }

  /**
   * False where the row was too long to be held, so that it is not in the file.
   * @throws InputProblem where the file cannot be written to; no more is written then.
   */
  add({ source }: Row): boolean {
    if (source === undefined) return false;
    if (this.#format === "json") this.#gather(Buffer.from(this.#rows === 0 ? "[\n" : ",\n"), source);
    else this.#gather(...this.#header(), source, newline);
    this.#rows++;
    return true;
  }

  /** Writes what is left. Gives the sentence that says why it could not, if so. */
  finish(): string | undefined {
    try {
      if (this.#format === "json") this.#gather(Buffer.from(this.#rows === 0 ? "[]\n" : "\n]\n"));
      else this.#gather(...this.#header());
      this.#write();
      return undefined;
    } catch (error) {
      if (error instanceof InputProblem) return error.message;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #header(): Uint8Array[] {
    const heading = this.#rows === 0 ? this.#heading() : undefined;
    return heading === undefined ? [] : [heading, newline];
  }

  #gather(...parts: Uint8Array[]): void {
    this.#gathered.push(...parts);
    for (const part of parts) this.#gatheredBytes += part.length;
    if (this.#gatheredBytes >= gatheredBytesMax) this.#write();
  }

  #write(): void {
    let rest = Buffer.concat(this.#gathered);
    this.#gathered = [];
    this.#gatheredBytes = 0;
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#file, rest));
    } catch (error) {
      throw new InputProblem(`${this.path} cannot be written to: ${fileTrouble(error)}.`);
    }
  }
}
