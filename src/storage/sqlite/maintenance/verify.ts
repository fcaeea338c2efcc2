import type { Database } from "bun:sqlite";
import { isUtf8 } from "node:buffer";
import { setImmediate as otherWork } from "node:timers/promises";
import { blockPlants, blockProblems, lastSeq, summaryProblems } from "../block-summaries.ts";
import { requireDataFile } from "../data-file-path.ts";
import { DataFileProblem, isDamage } from "../data-file-problem.ts";
import { openReadOnly } from "../reading/open-read-only.ts";
import { checksum, checksumFile, expectedChecksum } from "./checksum.ts";
import { checkDatabase } from "./copy.ts";

/** In a damaged file a column may hold anything. */
interface UncheckedRow {
  seq: bigint;
  id: unknown;
  name: Uint8Array | null;
  tag: Uint8Array | null;
  created_at_ms: unknown;
  created_by: unknown;
}

export interface Verified {
  readonly plants: number;
  /** Whether there was a checksum file to compare it with. */
  readonly checksummed: boolean;
  /** The first few problems. */
  readonly problems: readonly string[];
}

const problemsMax = 20;

/**
 * Checks the data file against its checksum, with SQLite's integrity check, then every row and the summary of every block.
 * Damage is reported, never thrown.
 * @throws DataFileProblem it is not a data file.
 */
export async function verify(path: string): Promise<Verified> {
  requireDataFile(path);
  const expected = expectedChecksum(path);
  const problems = expected === undefined ? [] : await checksumProblems(path, expected);
  let plants = 0;
  try {
    using database = openReadOnly(path, { older: true });
    problems.push(...(await checkDatabase(path)));
    plants = await checkPlants(database, problems);
  } catch (error) {
    // With a wrong checksum, a file that is not recognised is a damaged one.
    const changed = problems.length > 0 && error instanceof DataFileProblem;
    problems.push(changed ? error.message : damageOf(error));
  }
  return { plants, checksummed: expected !== undefined, problems: problems.slice(0, problemsMax) };
}

async function checksumProblems(path: string, expected: string): Promise<string[]> {
  try {
    if ((await checksum(path)) === expected) return [];
    return [`its checksum is not the one in ${checksumFile(path)}: it was changed or truncated`];
  } catch (error) {
    return [`it cannot be read: ${(error as Error).message}`];
  }
}

async function checkPlants(database: Database, problems: string[]): Promise<number> {
  const count = lastSeq(database);
  problems.push(...summaryProblems(database, count));
  const read = database.query<UncheckedRow, [number, number]>(
    "SELECT seq, id, CAST(name AS BLOB) AS name, CAST(tag AS BLOB) AS tag, created_at_ms, created_by FROM plants WHERE seq > ? AND seq <= ? ORDER BY seq",
  );
  let plants = 0;
  // Block by block, so that one that cannot be read is reported and the others are still checked.
  for (let block = 0; block * blockPlants < count && problems.length < problemsMax; block++) {
    const [low, high] = [block * blockPlants, Math.min((block + 1) * blockPlants, count)];
    try {
      const rows = read.all(low, high);
      plants += rows.length;
      if (rows.length < high - low)
        problems.push(`${high - low - rows.length} of the plants ${low + 1} to ${high} are missing`);
      for (const row of rows)
        problems.push(...faultsOf(row).map((fault) => `the plant with the id ${row.id}: ${fault}`));
      problems.push(...blockProblems(database, block));
    } catch (error) {
      problems.push(`the plants ${low + 1} to ${high} cannot be read: ${damageOf(error)}`);
    }
    await otherWork();
  }
  return plants;
}

function damageOf(error: unknown): string {
  const cause = error instanceof DataFileProblem ? error.cause : error;
  if (!isDamage(cause)) throw error;
  return cause.message;
}

function faultsOf({ name, tag, created_at_ms: createdAtMs, created_by: createdBy }: UncheckedRow): string[] {
  const faults: string[] = [];
  if (name === null || !isText(name)) faults.push("its name is not text");
  if (tag !== null && !isText(tag)) faults.push("its tag is not text");
  if (typeof createdAtMs !== "bigint") faults.push("its time is not a number");
  if (typeof createdBy !== "string" || createdBy === "") faults.push("it is not known who sent it");
  return faults;
}

function isText(bytes: Uint8Array): boolean {
  return !bytes.includes(0) && isUtf8(bytes);
}
