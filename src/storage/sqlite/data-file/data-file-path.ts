// The path of a data file: which file it leads to, and whether this user can use that.

import { accessSync, constants, existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Problem } from "../../../system/problem.ts";
import { asDataFileProblem, isDenied } from "./data-file-problem.ts";

const linksMax = 40;

/** The target if the path is a symbolic link, even to a missing file: SQLite puts the WAL next to the target. */
export function realDataFile(path: string): string {
  let at = resolve(path);
  for (let links = 0; links < linksMax; links++) {
    try {
      at = resolve(dirname(at), readlinkSync(at));
    } catch {
      // The path is not a link, or nothing is there: this is the data file.
      break;
    }
  }
  return existsSync(dirname(at)) ? join(realpathSync(dirname(at)), basename(at)) : at;
}

/**
 * The path of the file for the first token: beside the data file, and so beside the target if that is a symbolic link. Otherwise
 * its folder is as the operator named it, even if that is a link.
 */
export function firstTokenPath(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  return `${isLink ? realDataFile(path) : resolve(path)}.first-token`;
}

/**
 * A file in a folder that this user may not enter looks as if it were missing, so this comes before any other check.
 * @throws Problem this user may not use it so, or it is a folder.
 */
export function refuseUnusablePath(path: string, access = constants.R_OK): void {
  try {
    accessSync(path, access);
  } catch (error) {
    if (isDenied(error)) throw asDataFileProblem(error, path);
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new Problem(`${path} is a folder; name a file in it, such as ${join(path, "plant-store.db")}.`);
}

export function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** @throws Problem there is something at the path already; `why` says in one sentence what that means. */
export function refuseExisting(path: string, why: string): void {
  // A symlink exists, even if its target does not.
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
    throw new Problem(`${path} already exists. ${why}.`);
}
