import { closeSync, openSync, writeFileSync } from "node:fs";
import type { InputRow, RowReader } from "../../files/input-row.ts";
import type { FileFormat } from "../../files/read-rows.ts";
import { cannotBe, FileProblem } from "../local-files.ts";

const newline = Buffer.from("\n");

/** Refused rows, byte for byte and in the input's format, so that they can be fixed and imported again. */
export class RefusedFile implements Disposable {
  readonly #path: string;
  readonly #file: number;
  readonly #format: FileFormat;
  readonly #reader: RowReader;
  #rows = 0;

  /** The reader knows the CSV header once it has read the first row. */
  constructor(path: string, format: FileFormat, reader: RowReader) {
    this.#path = path;
    this.#format = format;
    this.#reader = reader;
    try {
      this.#file = openSync(path, "w", 0o600);
    } catch (error) {
      throw cannotBe("written", path, error);
    }
  }

  /**
   * Returns false if the row was too long to buffer and is not in the file.
   * @throws FileProblem if the file cannot be written.
   */
  add({ source }: InputRow): boolean {
    if (source === undefined) return false;
    if (this.#format === "json") this.#write(Buffer.from(this.#rows === 0 ? "[\n" : ",\n"), source);
    else this.#write(...this.#headerOnce(), source, newline);
    this.#rows++;
    return true;
  }

  /** Completes the file. Returns the error message if that fails. */
  finish(): string | undefined {
    try {
      if (this.#format === "json") this.#write(Buffer.from(this.#rows === 0 ? "[]\n" : "\n]\n"));
      else this.#write(...this.#headerOnce());
      return undefined;
    } catch (error) {
      if (error instanceof FileProblem) return error.message;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #headerOnce(): Uint8Array[] {
    const header = this.#rows === 0 ? this.#reader.header : undefined;
    return header === undefined ? [] : [header, newline];
  }

  #write(...parts: Uint8Array[]): void {
    try {
      writeFileSync(this.#file, Buffer.concat(parts));
    } catch (error) {
      throw cannotBe("written", this.#path, error);
    }
  }
}
