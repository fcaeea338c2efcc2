// The names of the backups in a folder: plants-2026-11-15T02-00-00-000Z.db is one of plants.db, of that time.
import { parse } from "node:path";
import { timeInFileName } from "../../../text/time.ts";
import { realDataFile } from "../data-file/data-file-path.ts";

const backupEnding = ".db";
const timestamp = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)$/;
const timestampLength = "2026-11-15T02-00-00-000Z".length;

/** A name that only a backup has. */
export interface BackupName {
  readonly name: string;
  /** The time in the name. */
  readonly atMs: number;
}

/** The names that backups of one data file have. */
export class BackupNames {
  /** The data file's name without its extension; each backup's name begins with it. */
  readonly stem: string;

  constructor(databasePath: string) {
    this.stem = parse(realDataFile(databasePath)).name;
  }

  /** The name of a backup that is made at this time. */
  at(atMs: number): string {
    return `${this.stem}-${timeInFileName(atMs)}${backupEnding}`;
  }

  /** The backups among the names of files, the oldest first. */
  backupsAmong(names: readonly string[]): readonly BackupName[] {
    return names.toSorted().flatMap((name) => {
      const atMs = this.#timeIn(name);
      return atMs === undefined ? [] : { name, atMs };
    });
  }

  /** Whether a backup of this data file has that name. */
  isBackup(name: string): boolean {
    return this.#timeIn(name) !== undefined;
  }

  #timeIn(name: string): number | undefined {
    const start = `${this.stem}-`;
    if (!name.startsWith(start) || !name.endsWith(backupEnding)) return undefined;
    return tryParseTimestamp(name.slice(start.length, -backupEnding.length));
  }
}

/** The time in the name of a backup that was made into a folder; undefined for any other file. */
export function timeInName(backup: string): number | undefined {
  return tryParseTimestamp(parse(backup).name.slice(-timestampLength));
}

/** The time of a timestamp; undefined if the text is none. */
function tryParseTimestamp(text: string): number | undefined {
  const match = timestamp.exec(text);
  if (match === null) return undefined;
  const [, hour, minute, second, rest] = match;
  const atMs = Date.parse(`${hour}:${minute}:${second}.${rest}`);
  // A month may be 13.
  return Number.isNaN(atMs) ? undefined : atMs;
}
