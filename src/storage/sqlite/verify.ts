import type { Database } from "bun:sqlite";
import { setImmediate as otherWork } from "node:timers/promises";
import { checkDatabase } from "./maintenance.ts";
import { openReadOnly } from "./open-read-only.ts";
import { windowPlants } from "./windows.ts";

interface Row {
  seq: bigint;
  id: bigint;
  name: Uint8Array;
  tag: Uint8Array | null;
  created_at_ms: bigint;
  created_by: string;
}

export interface Verified {
  readonly plants: number;
  /** What is wrong, the first few of it. */
  readonly problems: readonly string[];
}

const rowsAtOnce = 5000;
const problemsMax = 20;

/** Checks the data file as SQLite does, and then every row: that it reads as text, has its number and its time. */
export async function verify(path: string, onRows: (checked: number, of: number) => void): Promise<Verified> {
  using database = openReadOnly(path);
  const problems = [...(await checkDatabase(path))];
  const last =
    database.query<{ seq: bigint | null }, []>("SELECT max(seq) AS seq FROM plants").get()?.seq ?? 0n;
  const read = database.query<Row, [bigint, number]>(
    "SELECT seq, id, CAST(name AS BLOB) AS name, CAST(tag AS BLOB) AS tag, created_at_ms, created_by FROM plants WHERE seq > ? ORDER BY seq LIMIT ?",
  );
  if (!windowsAgree(database))
    problems.push("what is written down of windows does not agree with the plants");
  let before = { seq: 0n, created_at_ms: 0n };
  let plants = 0;
  while (problems.length < problemsMax) {
    const rows = read.all(before.seq, rowsAtOnce);
    if (rows.length === 0) break;
    for (const row of rows) {
      problems.push(...faultsOf(row, before).map((fault) => `the plant with the id ${row.id}: ${fault}`));
      before = row;
    }
    plants += rows.length;
    onRows(plants, Number(last));
    await otherWork();
  }
  return { plants, problems: problems.slice(0, problemsMax) };
}

function windowsAgree(database: Database): boolean {
  const wrong = database.query(
    `SELECT 1 FROM (
       SELECT tag, (seq - 1) / ${windowPlants} AS window, count(*) AS plants FROM plants
        WHERE tag IS NOT NULL AND seq <= (SELECT seq FROM windows_end) GROUP BY window, tag
     ) AS held FULL JOIN tag_windows AS kept USING (tag, window) WHERE held.plants IS NOT kept.plants LIMIT 1`,
  );
  const windows = database
    .query<{ named: bigint; full: bigint }, []>(
      `SELECT (SELECT count(*) FROM name_windows) AS named, seq / ${windowPlants} AS full FROM windows_end`,
    )
    .get();
  return wrong.get() === null && windows?.named === windows?.full;
}

function faultsOf(row: Row, before: Pick<Row, "seq" | "created_at_ms">): string[] {
  const faults: string[] = [];
  if (row.seq !== before.seq + 1n) faults.push(`${row.seq - before.seq - 1n} before it are gone`);
  if (!isText(row.name)) faults.push("its name is not text");
  if (row.tag !== null && !isText(row.tag)) faults.push("its tag is not text");
  if (row.created_by === "") faults.push("it is not known who sent it");
  return faults;
}

function isText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
