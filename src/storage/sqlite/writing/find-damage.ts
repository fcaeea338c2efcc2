// What is wrong in a data file as a database: its pages, its tables and its indexes. SQLite's own integrity check is one
// statement, which says nothing until it is done; nearly all of its time goes into looking up each plant in the index of ids. So
// SQLite checks everything else here, and the look-ups are a query for some plants at a time, between which there is progress.
import type { Database } from "bun:sqlite";
import { lastSeq } from "../blocks/blocks.ts";
import { isDamage } from "../data-file/data-file-problem.ts";
import { refuseJournal } from "../inspection/inspect-files.ts";
import { connectReadOnly } from "../reading/open-read-only.ts";

/** Called with how many plants were looked up, and how many there are. */
export type OnLookedUp = (plants: number, total: number) => void;

const problemsMax = 20;
const checkCacheKib = 131_072;
// How many plants one query looks up, in about a twentieth of a second.
const plantsAtOnce = 16_384;
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
    const problems = pageProblems(database);
    // With damaged pages, what is wrong with the indexes says little.
    if (problems.length === 0)
      problems.push(...otherTables(database).flatMap((table) => tableProblems(database, table)));
    return problems.slice(0, problemsMax);
  });
}

/**
 * Whether the index of ids leads to each plant. In a file in which `findDamagedTables` finds nothing, it then leads to nothing
 * else: it has as many entries as there are plants.
 */
export function findDamagedIdIndex(path: string, onLookedUp: OnLookedUp): readonly string[] {
  return damageIn(path, (database) => {
    const total = lastSeq(database);
    onLookedUp(0, total);
    // Of two plants with the same id, the index leads to one only.
    const lookUp = database.query<{ plants: bigint; last: bigint; lost: bigint | null }, [bigint]>(
      `SELECT count(*) AS plants, max(seq) AS last, min(iif(found_seq = seq, NULL, seq)) AS lost FROM (
         SELECT seq, (SELECT seq FROM plants INDEXED BY ${idIndex} WHERE id = stored.id) AS found_seq
           FROM plants AS stored WHERE seq > ? ORDER BY seq LIMIT ${plantsAtOnce})`,
    );
    let plants = 0n;
    let after = -(2n ** 63n);
    for (let found = lookUp.get(after); found !== null && found.plants > 0n; found = lookUp.get(after)) {
      if (found.lost !== null) return [`the index of ids does not lead to plant ${found.lost}`];
      plants += found.plants;
      after = found.last;
      onLookedUp(Number(plants), total);
    }
    return [];
  });
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

function pageProblems(database: Database): string[] {
  return problemsIn(
    database.query<Problem, []>("SELECT quick_check AS problem FROM pragma_quick_check").all(),
  );
}

function tableProblems(database: Database, table: string): string[] {
  return problemsIn(
    database
      .query<Problem, [string]>("SELECT integrity_check AS problem FROM pragma_integrity_check(?)")
      .all(table),
  );
}

interface Problem {
  problem: string;
}

function problemsIn(rows: readonly Problem[]): string[] {
  return rows.map(({ problem }) => problem).filter((problem) => problem !== "ok");
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
