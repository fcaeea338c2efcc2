// What a data file is, and what may be done with it: one table, from the bytes of the data file and of its WAL, before SQLite opens
// either. Opening recovers a WAL, and closing deletes it.

import { existsSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { Problem } from "../../../system/problem.ts";
import { dataHeaderBytes, writeMode } from "../data-file/data-file-header.ts";
import { asDataFileProblem, LostWal, notSqliteSentence } from "../data-file/data-file-problem.ts";
import { fileSize, readAt, withFile } from "../data-file/durable-files.ts";
import { readUseWithoutWal } from "../data-file/store-use.ts";
import { inspectWal, type WalState } from "../data-file/wal-file.ts";
import { folderForOld, foldersOfOld } from "./swap.ts";

type Kind =
  /** There is none, or an empty one. */
  | "missing"
  /** VACUUM made it, as it makes every backup, and no start has opened it since: it has no WAL. */
  | "copy"
  /** Its first start did not create its tables. */
  | "begun"
  | "closed"
  | "in use"
  | "another format";

/** What a start does with the files, or why every command refuses them. */
type Verdict =
  | "new WAL"
  | "open"
  | "recover"
  | "lost data file"
  | "foreign WAL"
  | "lost WAL"
  | "damaged WAL"
  | "another format";

const table: Readonly<Record<Kind, Readonly<Record<WalState["kind"], Verdict>>>> = {
  missing: { none: "new WAL", sound: "lost data file", damaged: "lost data file" },
  copy: { none: "new WAL", sound: "foreign WAL", damaged: "foreign WAL" },
  begun: { none: "open", sound: "recover", damaged: "damaged WAL" },
  closed: { none: "open", sound: "recover", damaged: "damaged WAL" },
  "in use": { none: "lost WAL", sound: "recover", damaged: "damaged WAL" },
  "another format": { none: "another format", sound: "another format", damaged: "another format" },
};

// SQLite writes its header with the sector that it is in.
const sectorBytes = 512;

export interface DataFileState {
  readonly kind: Kind;
  readonly wal: WalState;
  readonly verdict: Verdict;
}

/**
 * Looks at the files. Only while no process writes to them; and never in one that has the data file open, where closing a handle
 * drops SQLite's locks.
 * @throws Problem they cannot be read, or there is a rollback journal.
 */
export function inspectDataFile(path: string): DataFileState {
  try {
    refuseJournal(path);
    const wal = inspectWal(`${path}-wal`);
    const kind = kindOf(path);
    return { kind, wal, verdict: table[kind][wal.kind] };
  } catch (error) {
    throw asDataFileProblem(error, path);
  }
}

/** @throws Problem the table refuses the files. */
export function refuseByTable(path: string, { verdict, wal }: DataFileState): void {
  switch (verdict) {
    case "lost data file":
      throw new Problem(
        `${path}-wal holds plants, but its data file ${path} is missing or empty; no file was changed. Put the data file back, or restore a backup.`,
      );
    case "foreign WAL":
      throw new Problem(
        `${path} is complete without a WAL, as every backup is, and ${path}-wal belongs to another file; no file was changed. If this is the data file to use, move that WAL away: \`${moveWalCommand(path)}\`.`,
      );
    case "lost WAL":
      throw new LostWal(path);
    case "damaged WAL":
      throw new Problem(
        `${path}-wal is damaged at frame ${wal.kind === "damaged" ? wal.frame : 0}, and acknowledged plants follow it; no file was changed. ` +
          "Restore a backup; to save the plants before the damage, copy the data file and its -wal and open the copy with sqlite3.",
      );
    case "another format":
      throw new Problem(notSqliteSentence(path));
  }
}

/** Moves the WAL to its data file, if a swap was interrupted, or into a new dated folder; with the -shm file if there is one. */
function moveWalCommand(path: string): string {
  const files = [`${path}-wal`, `${path}-shm`].filter((file) => existsSync(file));
  const owner = ownerOfWal(path);
  if (owner !== undefined) return `mv ${files.join(" ")} ${owner}/`;
  const folder = folderForOld(path, Date.now());
  return `mkdir ${folder} && mv ${files.join(" ")} ${folder}/`;
}

/**
 * The dated folder with the data file that a WAL beside a copy belongs to, if a swap was interrupted: that file lacks its WAL, and
 * was put there after the WAL was written.
 */
export function ownerOfWal(path: string): string | undefined {
  const writtenAtMs = statSync(`${path}-wal`).mtimeMs;
  return foldersOfOld(path).findLast((folder) => {
    const old = join(folder, basename(path));
    const lacksWal = kindOf(old) === "in use" && fileSize(`${old}-wal`) === 0;
    return lacksWal && statSync(folder).mtimeMs >= writtenAtMs;
  });
}

/**
 * A data file has no rollback journal, since its transactions are in the WAL. If that of another file is beside it, SQLite would
 * roll the data file back by that, and could empty it. SQLite ignores an empty one.
 */
function refuseJournal(path: string): void {
  const journal = `${path}-journal`;
  if (fileSize(journal) === 0) return;
  throw new Problem(
    `${journal} is a rollback journal: with it, SQLite would undo what ${path} holds; no file was changed. Move the journal away, unless another program, such as sqlite3, was interrupted while it wrote to this very file: then copy both, and let that program open it.`,
  );
}

function kindOf(path: string): Kind {
  const bytes = fileSize(path);
  if (bytes === 0) return "missing";
  if (bytes < sectorBytes) return "another format";
  const mode = writeMode(withFile(path, "r", (file) => readAt(file, dataHeaderBytes, 0)));
  if (mode === undefined) return "another format";
  return mode === "journal" ? "copy" : (readUseWithoutWal(path) ?? "begun");
}
