// Reads every row of a data file, and checks it with the digest of its block.
import type { Database, Statement } from "bun:sqlite";
import { isUtf8 } from "node:buffer";
import { type BlockDigest, DigestReader, storedDigests } from "../blocks/block-digests.ts";
import { describeBlocks, lastSeq, rangeOf, type SeqRange } from "../blocks/blocks.ts";
import { isDamage } from "../data-file/data-file-problem.ts";
import { problemsMax } from "../opening/copy-into.ts";
import { type SharedProgress, setProgress } from "./progress.ts";

export interface CheckedRows {
  readonly plants: number;
  /** How many of them are in blocks that have the digest which was stored with them. */
  readonly matchedPlants: number;
  /** The digest of each full block, computed from its rows; undefined if one of them cannot be read. */
  readonly blocks: readonly BlockDigest[] | undefined;
  /** The first few problems of rows. */
  readonly problems: readonly string[];
  /** The blocks that differ from the digest which was stored with them. */
  readonly changedBlocks: readonly number[];
}

/** In a damaged file a column may hold anything. */
interface UncheckedRow {
  seq: bigint;
  id: unknown;
  name: Uint8Array | null;
  tag: Uint8Array | null;
}

/** Checks every row, and the digest of every block. Damage is returned, never thrown. */
export function checkRows(database: Database, progress: SharedProgress): CheckedRows {
  const check = new RowCheck(database, progress);
  check.run();
  return check.result();
}

class RowCheck {
  readonly #database: Database;
  readonly #progress: SharedProgress;
  readonly #rows: Statement<UncheckedRow, [number, number]>;
  readonly #digests: DigestReader;
  /** The first few problems. */
  readonly #problems: string[] = [];
  /** The digests of full blocks, computed from their rows. */
  readonly #blocks: BlockDigest[] = [];
  /** The blocks that differ from their stored digest. */
  readonly #differing: number[] = [];
  #plants = 0;
  #matched = 0;
  #isReadable = true;

  constructor(database: Database, progress: SharedProgress) {
    this.#database = database;
    this.#progress = progress;
    this.#rows = database.query(
      `SELECT seq, id, CAST(name AS BLOB) AS name, CAST(tag AS BLOB) AS tag
         FROM plants WHERE seq BETWEEN ? AND ? ORDER BY seq`,
    );
    this.#digests = new DigestReader(database);
  }

  run(): void {
    try {
      this.#checkBlocks();
    } catch (error) {
      // Damage outside the rows of one block, such as in the table of digests.
      this.#problems.push(damageOfRows(error));
      this.#isReadable = false;
    }
  }

  result(): CheckedRows {
    return {
      plants: this.#plants,
      matchedPlants: this.#matched,
      blocks: this.#isReadable ? this.#blocks : undefined,
      problems: this.#problems.slice(0, problemsMax),
      changedBlocks: this.#differing,
    };
  }

  #checkBlocks(): void {
    const database = this.#database;
    // Both are read in one snapshot, since a service may be storing plants and filling blocks.
    const { last, stored } = database.transaction(() => {
      return { last: lastSeq(database), stored: storedDigests(database) };
    })();
    let next = 0;
    for (const block of this.#digests.blocks()) {
      if (block > next) this.#report(`${describeBlocks(next, block - 1)}: no plant is left`);
      this.#checkBlock(block, last, stored.get(block));
      setProgress(this.#progress, Math.min(rangeOf(block).high, last), last);
      next = block + 1;
    }
    const lastDigest = [...stored.keys()].at(-1) ?? -1;
    if (lastDigest >= next)
      this.#report(`${describeBlocks(next, lastDigest)}: there is a digest, but no plant`);
  }

  /** A block that cannot be read is reported, so that the others are still checked. */
  #checkBlock(block: number, last: number, stored: string | undefined): void {
    const { low, high } = rangeOf(block);
    const expected = { low, high: Math.min(high, last) };
    try {
      // The rows come first: what is wrong with one says more than a digest that differs, and not every block has a digest.
      this.#checkForm(this.#rows.all(low, high), expected);
      if (high <= last) this.#checkDigest(block, stored);
      else if (stored !== undefined) this.#differing.push(block);
    } catch (error) {
      this.#isReadable = false;
      this.#report(`the plants ${low} to ${expected.high} cannot be read: ${damageOfRows(error)}`);
    }
  }

  #checkForm(rows: readonly UncheckedRow[], { low, high }: SeqRange): void {
    this.#plants += rows.length;
    const missing = high - low + 1 - rows.length;
    if (missing > 0) this.#report(`${missing} of the plants ${low} to ${high} are missing`);
    for (const row of rows)
      for (const problem of problemsOf(row)) this.#report(`the plant with the id ${row.id}: ${problem}`);
  }

  #checkDigest(block: number, stored: string | undefined): void {
    const { plants, digest } = this.#digests.read(rangeOf(block));
    this.#blocks.push({ block, digest });
    if (stored === digest) this.#matched += plants;
    else if (stored !== undefined) this.#differing.push(block);
  }

  #report(problem: string): void {
    if (this.#problems.length < problemsMax) this.#problems.push(problem);
  }
}

/** What is wrong with the rows that could not be read. Any other error is thrown again. */
function damageOfRows(error: unknown): string {
  if (!isDamage(error)) throw error;
  return error.message;
}

/** What SQLite's integrity check does not see: it checks the type of each value, and neither the bytes of a text nor zeros in it. */
function problemsOf({ name, tag }: UncheckedRow): string[] {
  const problems: string[] = [];
  if (name === null || !isText(name)) problems.push("its name is not text");
  if (tag !== null && !isText(tag)) problems.push("its tag is not text");
  return problems;
}

function isText(bytes: Uint8Array): boolean {
  return !bytes.includes(0) && isUtf8(bytes);
}
