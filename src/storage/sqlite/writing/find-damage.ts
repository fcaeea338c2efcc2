// What is wrong in a data file as a database: its pages, its tables and its indexes. SQLite's own integrity check is one
// statement, which says nothing until it is done; nearly all of its time goes into looking up each plant in the index of ids. So
// SQLite checks everything else here, and the look-ups are a query for some plants at a time, between which there is progress.
import type { Database } from "bun:sqlite";
import { lastSeq } from "../blocks/blocks.ts";
import { isDamage } from "../data-file/data-file-problem.ts";
import { refuseJournal } from "../inspection/inspect-files.ts";
import { connectReadOnly } from "../reading/connect-read-only.ts";

/** Called with how many plants were looked up, and how many there are. */
export type OnLookedUp = (plants: number, total: number) => void;

const problemsMax = 20;
const checkCacheKib = 131_072;
// How many plants one query looks up, in about a twentieth of a second.
const plantsAtOnceDefault = 16_384;
// SQLite's name for the index behind `id … UNIQUE`.
const idIndex = "sqlite_autoindex_plants_1";

/** What SQLite's integrity check finds: pages, tables and indexes that are damaged. Empty for a sound file. */
export function findDamage(path: string): readonly string[] {
  const problems = findDamagedTables(path);
  return problems.length > 0 ? problems : findDamagedIdIndex(path, () => {});
}

/**
 * SQLite's own check of every page, every row, how many entries each index has, and what is in every index but that of ids.
 */
export function findDamagedTables(path: string): readonly string[] {
  return damageIn(path, (database) => {
    const problems = pragmaProblems(database, `quick_check(${problemsMax})`);
    // With damaged pages, what is wrong with the indexes says little.
    if (problems.length > 0) return problems;
    for (const table of otherTables(database))
      problems.push(...pragmaProblems(database, `integrity_check(${quoted(table)})`));
    return problems.slice(0, problemsMax);
  });
}

/**
 * Whether the index of ids leads to each plant. In a file in which `findDamagedTables` finds nothing, it then leads to nothing
 * else: it has as many entries as there are plants.
 */
export function findDamagedIdIndex(
  path: string,
  onLookedUp: OnLookedUp,
  plantsAtOnce = plantsAtOnceDefault,
): readonly string[] {
  return damageIn(path, (database) => {
    const total = lastSeq(database);
    onLookedUp(0, total);
    // NOT INDEXED reads the plants from the table whatever SQLite's statistics say, or the index might be compared with itself.
    // Of two plants with the same id, the look-up finds the first. The `<=` also compares the seq as a search for a plant does:
    // SQLite decodes the one that it returns in another way.
    const lookUp = database.query<LookedUp, [bigint]>(
      `SELECT count(*) AS plants, max(seq) AS last, count(lost_seq) AS lost, min(lost_seq) AS firstLost FROM (
         SELECT seq, iif(seq = (
             SELECT seq FROM plants INDEXED BY ${idIndex} WHERE id = stored.id AND seq <= stored.seq
           ), NULL, seq) AS lost_seq
           FROM plants AS stored NOT INDEXED WHERE seq > ? ORDER BY seq LIMIT ${plantsAtOnce})`,
    );
    let plants = 0n;
    let lost = 0n;
    let firstLost: bigint | null = null;
    let after = -(2n ** 63n);
    for (let found = lookUp.get(after); found !== null && found.plants > 0n; found = lookUp.get(after)) {
      plants += found.plants;
      lost += found.lost;
      firstLost ??= found.firstLost;
      after = found.last;
      onLookedUp(Number(plants), total);
    }
    return firstLost === null ? [] : [describeLost(lost, firstLost)];
  });
}

/** What was found about some plants in a row. */
interface LookedUp {
  plants: bigint;
  /** The seq of the last of them. */
  last: bigint;
  /** How many of them the index does not lead to, and the seq of the first of these. */
  lost: bigint;
  firstLost: bigint | null;
}

function describeLost(plants: bigint, first: bigint): string {
  const which =
    plants === 1n ? `the plant with seq ${first}` : `${plants} plants, the first with seq ${first}`;
  return `the index of ids does not lead to ${which}`;
}

/** Runs a check on one snapshot of the file: a service may be storing plants. */
function damageIn(path: string, check: (database: Database) => readonly string[]): readonly string[] {
  try {
    refuseJournal(path);
    using database = connectReadOnly(path);
    // Each entry of an index is looked up in its table, or the other way round, so the cache is large.
    database.run(`PRAGMA cache_size = -${checkCacheKib}`);
    return database.transaction(() => check(database))();
  } catch (error) {
    if (isDamage(error)) return [error.message];
    throw error;
  }
}

/** Runs a check of SQLite's and returns what it reports, unless that is that all is well. */
function pragmaProblems(database: Database, pragma: string): string[] {
  const rows = database.query(`PRAGMA ${pragma}`).values() as [string][];
  return rows.map(([problem]) => problem).filter((problem) => problem !== "ok");
}

/** SQL text with that content. A pragma takes no parameters. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Every table but `plants`; that one too, if an operator has added an index to it. */
function otherTables(database: Database): string[] {
  const rows = database
    .query<{ name: string }, [string]>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND (name <> 'plants' OR EXISTS (
         SELECT 1 FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'plants' AND name <> ?))`,
    )
    .all(idIndex);
  return rows.map(({ name }) => name);
}
