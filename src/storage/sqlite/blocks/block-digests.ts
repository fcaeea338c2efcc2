// What shows that a store holds what it stored. Whoever fills a block of plants also writes its digest, in the same transaction,
// beside its summary: the SHA-256 of its rows, each as a line of JSON. The digest of the store is the SHA-256 of the digests of
// its blocks, each as a line of hex. docs/backup.md has the commands that compute both with sqlite3 and sha256sum. Everything is
// read as bytes: a JavaScript string would replace bytes that are not UTF-8, and hide that they changed.
import type { Database, Statement } from "bun:sqlite";
import type { StoreDigest } from "../../../plants/plant-backups.ts";
import { sqliteCodeOf } from "../data-file/connect.ts";
import { blockOf, rangeOf, type SeqRange } from "./blocks.ts";

/** The digest of a store whose first block is not full yet, or whose digest is not known. */
export const noDigest: StoreDigest = { coveredPlants: 0, digest: null };

export interface BlockDigest {
  readonly block: number;
  /** The SHA-256 in hex. */
  readonly digest: string;
}

// Writing the digest of this much JSON pauses the service for about 50 ms. A block with more has no digest.
const linesBytesMax = 8_000_000;
// Up to this much text is read at once, which is faster. As JSON it can be six times as much: a control character becomes \u0001.
const atOnceBytesMax = 1_000_000;

// One row as a line of JSON.
const lineSql = "json_array(seq, id, name, tag, created_at_ms, created_by)";

/** Writes the digests of full blocks, inside the writer's own transactions. */
export class BlockDigests {
  readonly #reader: DigestReader;
  readonly #insert: Statement<never, [number, Uint8Array]>;

  constructor(database: Database) {
    this.#reader = new DigestReader(database);
    // A digest that is there already stays: if it differs, then plants were removed, and `verify` says so.
    this.#insert = database.query("INSERT OR IGNORE INTO block_digests (block, digest) VALUES (?, ?)");
  }

  /** A block without any plant, or with too much text, gets no digest. */
  write(block: number): void {
    const found = this.#read(block);
    if (found === undefined || found.plants === 0) return;
    this.#insert.run(block, Buffer.from(found.digest, "hex"));
  }

  #read(block: number): PlantsDigest | undefined {
    try {
      return this.#reader.readWithin(linesBytesMax, rangeOf(block));
    } catch (error) {
      // The row is damaged, and its text is no text: `verify` names it. That is no reason to stop the service.
      if (sqliteCodeOf(error) === "SQLITE_ERROR") return undefined;
      throw error;
    }
  }
}

/** How many plants are in a range, and their digest in hex. */
interface PlantsDigest {
  readonly plants: number;
  readonly digest: string;
}

// The digest of a range without any plant.
const digestOfNone: PlantsDigest = { plants: 0, digest: new Bun.CryptoHasher("sha256").digest("hex") };

/** Computes digests from the rows of a store. */
export class DigestReader {
  readonly #size: Statement<{ bytes: bigint | null }, [number, number]>;
  readonly #lines: Statement<{ plants: bigint; lines: Uint8Array }, [number, number]>;
  readonly #line: Statement<{ line: Uint8Array }, [number, number]>;
  readonly #next: Statement<{ seq: bigint }, [number]>;

  constructor(database: Database) {
    // In these three, NOT INDEXED reads in the order of seq, whatever indexes an operator has added. The first asks only for the
    // lengths, so that no text is read.
    this.#size = database.query(
      `SELECT sum(octet_length(name) + ifnull(octet_length(tag), 0) + octet_length(created_by)) AS bytes
         FROM plants NOT INDEXED WHERE seq BETWEEN ? AND ?`,
    );
    this.#lines = database.query(
      `SELECT count(*) AS plants, CAST(group_concat(${lineSql}, '\n') AS BLOB) AS lines
         FROM plants NOT INDEXED WHERE seq BETWEEN ? AND ?`,
    );
    this.#line = database.query(
      `SELECT CAST(${lineSql} AS BLOB) AS line
         FROM plants NOT INDEXED WHERE seq BETWEEN ? AND ? ORDER BY seq`,
    );
    this.#next = database.query("SELECT seq FROM plants WHERE seq >= ? ORDER BY seq LIMIT 1");
  }

  /** The digest of the plants in a range, and how many these are. */
  read(range: SeqRange): PlantsDigest {
    return this.readWithin(Number.POSITIVE_INFINITY, range) ?? digestOfNone;
  }

  /** The digest of these plants; undefined if their rows have more bytes of JSON than that. */
  readWithin(bytesMax: number, range: SeqRange): PlantsDigest | undefined {
    const bytes = this.#size.get(range.low, range.high)?.bytes ?? null;
    if (bytes === null) return digestOfNone;
    if (bytes <= atOnceBytesMax) return this.#readAtOnce(range);
    return bytes > bytesMax ? undefined : this.#readEach(bytesMax, range);
  }

  /** The digest of rows that have little text, by one statement. */
  #readAtOnce({ low, high }: SeqRange): PlantsDigest {
    const found = this.#lines.get(low, high);
    // An aggregate always returns a row: without any plant, its lines are null.
    if (found === null || found.plants === 0n) return digestOfNone;
    const digest = new Bun.CryptoHasher("sha256").update(found.lines).update("\n").digest("hex");
    return { plants: Number(found.plants), digest };
  }

  /** Reads row by row: together they may be too long for a value of SQLite. */
  #readEach(bytesMax: number, { low, high }: SeqRange): PlantsDigest | undefined {
    const hash = new Bun.CryptoHasher("sha256");
    let plants = 0;
    let bytes = 0;
    for (const { line } of this.#line.iterate(low, high)) {
      hash.update(line).update("\n");
      plants++;
      bytes += line.length + 1;
      if (bytes > bytesMax) return undefined;
    }
    return { plants, digest: hash.digest("hex") };
  }

  /** The blocks that have a plant, in order. Only another program leaves one without any, or adds one before the first. */
  *blocks(): Generator<number, void, void> {
    for (let row = this.#next.get(Number.MIN_SAFE_INTEGER); row !== null; ) {
      const block = blockOf(Number(row.seq));
      yield block;
      row = this.#next.get(rangeOf(block).high + 1);
    }
  }
}

/** The digest of a store, from those of its full blocks, in order. */
export function digestOfStore(blocks: readonly BlockDigest[]): StoreDigest {
  const last = blocks.at(-1);
  if (last === undefined) return noDigest;
  const hash = new Bun.CryptoHasher("sha256");
  for (const { digest } of blocks) hash.update(`${digest}\n`);
  return { coveredPlants: rangeOf(last.block).high, digest: hash.digest("hex") };
}

/** The digests that were stored when the blocks were filled, in hex, by block and in order. */
export function storedDigests(database: Database): ReadonlyMap<number, string> {
  const rows = database
    .query<{ block: bigint; digest: string }, []>(
      "SELECT block, lower(hex(digest)) AS digest FROM block_digests ORDER BY block",
    )
    .all();
  return new Map(rows.map(({ block, digest }) => [Number(block), digest]));
}
