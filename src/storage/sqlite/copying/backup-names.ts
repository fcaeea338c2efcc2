// The names of the backups in a folder: plants-2026-11-15T02-00-00-000Z.db is one of plants.db, of that time.
import { timeInFileName } from "../../../text/time.ts";

const shape = /^(.+)-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)\.db$/;

/** The name of a backup of that time; `stem` is the data file's name without its extension. */
export function backupName(stem: string, atMs: number): string {
  return `${stem}-${timeInFileName(atMs)}.db`;
}

/** What the name of a backup says; undefined for any other file. */
export function parseBackupName(name: string): { readonly stem: string; readonly atMs: number } | undefined {
  const [, stem = "", hour, minute, second, rest] = shape.exec(name) ?? [];
  const atMs = Date.parse(`${hour}:${minute}:${second}.${rest}`);
  // Also where a month is 13.
  return Number.isNaN(atMs) ? undefined : { stem, atMs };
}
