import { closeSync, openSync, writeSync } from "node:fs";
import type { InputRow } from "../../files/input-row.ts";
import type { FileFormat } from "../../files/read-rows.ts";
import { fileTrouble } from "../file-error.ts";
import { InputProblem } from "./input.ts";

const gatheredBytesMax = 64 * 1024;
const newline = Buffer.from("\n");

/** Refused rows, byte for byte and in the input's format, so that they can be fixed and imported again. */
export class RefusedFile implements Disposable {
  readonly path: string;
  readonly #file: number;
  readonly #format: FileFormat;
  readonly #readHeader: () => Uint8Array | undefined;
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;
  #rows = 0;

  /** The header is a function because a CSV file's header is not known before its first row. */
  constructor(path: string, format: FileFormat, header: () => Uint8Array | undefined) {
    this.path = path;
    this.#format = format;
    this.#readHeader = header;
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
  add({ source }: InputRow): boolean {
    if (source === undefined) return false;
    if (this.#format === "json") this.#gather(Buffer.from(this.#rows === 0 ? "[\n" : ",\n"), source);
    else this.#gather(...this.#headerOnce(), source, newline);
    this.#rows++;
    return true;
  }

  /** Writes what is left. Gives the sentence that says why it could not, if so. */
  finish(): string | undefined {
    try {
      if (this.#format === "json") this.#gather(Buffer.from(this.#rows === 0 ? "[]\n" : "\n]\n"));
      else this.#gather(...this.#headerOnce());
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

  #headerOnce(): Uint8Array[] {
    const header = this.#rows === 0 ? this.#readHeader() : undefined;
    return header === undefined ? [] : [header, newline];
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
