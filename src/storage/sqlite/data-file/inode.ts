// Whether two paths or open files are the same file, whatever its names.

import type { Database } from "bun:sqlite";
import { fstatSync, statSync } from "node:fs";
import { Problem } from "../../../system/problem.ts";
import { closeOnError, readSchema } from "./connect.ts";

/** What tells a file from every other one, whatever its names. As doubles, large numbers could be equal after rounding. */
export interface Inode {
  readonly dev: bigint;
  readonly ino: bigint;
}

// A start replaces a data file once, so a second attempt is nearly always enough.
const openAttemptsMax = 10;

/** The inode that a path leads to; undefined if it leads to none. */
export function inodeAt(path: string): Inode | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

/** The inode of an open file, which may have no name any more. */
export function inodeOf(file: number): Inode {
  const { dev, ino } = fstatSync(file, { bigint: true });
  return { dev, ino };
}

/** Whether both exist and are the same file. */
export function isSameInode(one: Inode | undefined, other: Inode | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.ino === other.ino && one.dev === other.dev;
}

/** Whether both paths lead to the same existing file. A path that cannot be followed leads to none. */
export function isSameFile(one: string, other: string): boolean {
  try {
    return isSameInode(inodeAt(one), inodeAt(other));
  } catch {
    return false;
  }
}

/**
 * Opens a connection to the file now at the path. A start after a failed sync replaces the data file; a connection to the
 * old one would write into the new one's WAL. A connection that has read holds a lock against that.
 * @throws Problem the file was replaced during every attempt.
 */
export function openUnmoved(path: string, open: () => Database): Database {
  for (let attempt = 1; attempt <= openAttemptsMax; attempt++) {
    const before = inodeAt(path);
    const database = open();
    closeOnError(database, () => readSchema(database));
    if (before === undefined || isSameInode(before, inodeAt(path))) return database;
    // SQLite notices that this file was moved, and does not touch the WAL.
    database.close();
  }
  throw new Problem(
    `${path} cannot be opened: it was deleted or replaced at every attempt. Stop the program that does so first.`,
  );
}
