import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { membersOfJson } from "../text/json-text.ts";
import { orCannotBeWritten } from "./file-problem.ts";

// A page has no more plants, so only these lines can be incomplete after a crash.
const linesPerPageMax = 1000;
const chunkBytes = 1024 * 1024;
const lineFeed = 10;
const lineStart = '{"id":';

/**
 * A file that a store is followed into. The file is the state: each line has its cursor, and the last one says where to go on.
 * Each page is appended and fsynced before the next one is requested, so that no crash loses a plant or repeats one.
 */
export class FollowedFile implements Disposable {
  readonly #path: string;
  readonly #descriptor: number;
  #bytes: number;
  /** The cursor of its last plant; undefined if it has none. */
  readonly cursor: string | undefined;

  /**
   * Creates the file, or opens one and cuts off what a crash left incomplete.
   * @throws Problem it cannot be written, or has something else.
   */
  constructor(path: string) {
    this.#path = path;
    this.#descriptor = orCannotBeWritten(path, () => openDurably(path));
    const { size, end, cursor } = orCannotBeWritten(path, () => findEnd(this.#descriptor));
    this.cursor = cursor;
    this.#bytes = end;
    if (end < size) orCannotBeWritten(path, () => this.#cut());
  }

  /** Resolves once the lines are on disk. */
  append(lines: string): void {
    if (lines === "") return;
    const bytes = Buffer.from(lines);
    orCannotBeWritten(this.#path, () => {
      let written = 0;
      while (written < bytes.length)
        written += writeSync(this.#descriptor, bytes, written, bytes.length - written, this.#bytes + written);
      fsyncSync(this.#descriptor);
    });
    this.#bytes += bytes.length;
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }

  #cut(): void {
    ftruncateSync(this.#descriptor, this.#bytes);
    fsyncSync(this.#descriptor);
  }
}

function openDurably(path: string): number {
  const isNew = !existsSync(path);
  const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o666);
  if (!isNew) return descriptor;
  const folder = openSync(dirname(path), "r");
  fsyncSync(folder);
  closeSync(folder);
  return descriptor;
}

/** Where the last whole line ends, and its cursor. */
function findEnd(descriptor: number): {
  readonly size: number;
  readonly end: number;
  readonly cursor: string | undefined;
} {
  const status = fstatSync(descriptor);
  if (!status.isFile()) throw new Error("it is no regular file");
  const { size } = status;
  const { bytes, start } = readLastLines(descriptor, size);
  let end = start;
  let cursor: string | undefined;
  for (const line of linesOf(bytes)) {
    const found = cursorOf(line);
    if (found === undefined) break;
    cursor = found;
    end += line.length + 1;
  }
  // A crash during the very first page leaves no whole line. Anything else is not ours to cut.
  const isOurs = cursor !== undefined || size === 0 || (start === 0 && isTornLine(bytes));
  if (!isOurs)
    throw new Error("it has something else than the output of plant-store follow; name a new file");
  return { size, end, cursor };
}

/** The last lines, up to a page of them, and where they start. */
function readLastLines(descriptor: number, size: number): { readonly bytes: Buffer; readonly start: number } {
  const chunks: Buffer[] = [];
  let start = size;
  let lineEnds = 0;
  // The end of the line before them, too.
  while (start > 0 && lineEnds <= linesPerPageMax) {
    const chunk = Buffer.alloc(Math.min(chunkBytes, start));
    start -= chunk.length;
    readSync(descriptor, chunk, 0, chunk.length, start);
    for (const byte of chunk) if (byte === lineFeed) lineEnds++;
    chunks.unshift(chunk);
  }
  const bytes = Buffer.concat(chunks);
  let from = 0;
  for (; lineEnds > linesPerPageMax; lineEnds--) from = bytes.indexOf(lineFeed, from) + 1;
  return { bytes: bytes.subarray(from), start: start + from };
}

/** The lines without their ends, but for a last one that has none. */
function* linesOf(bytes: Buffer): Generator<Buffer> {
  let start = 0;
  for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, start)) {
    yield bytes.subarray(start, end);
    start = end + 1;
  }
}

/** The cursor of a line that `follow` has written; undefined if it is anything else. */
function cursorOf(line: Buffer): string | undefined {
  const { name, createdBy, cursor } = membersOfJson(line.toString());
  const isWhole = typeof name === "string" && typeof createdBy === "string";
  return isWhole && typeof cursor === "string" ? cursor : undefined;
}

/** Whether it begins as a line of ours, or with zeros where one was to be, and is not whole: perhaps only its end is missing. */
function isTornLine(bytes: Buffer): boolean {
  const [first = bytes] = linesOf(bytes);
  const opening = first.subarray(0, lineStart.length).toString();
  const untilZero = opening.split("\0")[0] ?? "";
  const isTorn = membersOfJson(first.toString())["id"] === undefined || cursorOf(first) !== undefined;
  return opening !== "" && lineStart.startsWith(untilZero) && isTorn;
}
