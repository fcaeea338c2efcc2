import { existsSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { readConfig } from "../config/read-config.ts";
import { settings } from "../config/settings.ts";
import { parseCount } from "../config/values.ts";
import { isDatabaseUrl } from "../storage/postgres/database-url.ts";
import { describeEachBlock, type StoreDigest } from "../storage/sqlite/block-digests.ts";
import { realDataFile } from "../storage/sqlite/data-file-path.ts";
import { type BackupFile, backUp, recordBackup, streamBackup } from "../storage/sqlite/maintenance/backup.ts";
import { BackupFolder, recordDigest } from "../storage/sqlite/maintenance/backup-folder.ts";
import { checksumFile } from "../storage/sqlite/maintenance/checksum.ts";
import { restore as restoreBackup, restoreInPlace } from "../storage/sqlite/maintenance/restore.ts";
import { parseFlag } from "./arguments.ts";
import { type Arguments, type Command, jsonFlag } from "./command.ts";
import { lostWalWarning, writing } from "./local-files.ts";
import {
  formatBytes,
  formatCount,
  formatPlants,
  printJson,
  secondsSince,
  shellQuoted,
  showProgress,
  type Terminal,
  UsageError,
} from "./terminal.ts";

const keepMax = 100_000;

// Not the setting of that name, which may also be a PostgreSQL URL.
export const dataFileFlags = {
  database: { placeholder: "PATH", help: `the data file (${settings.database.default})` },
  json: jsonFlag,
};

export const backup: Command = {
  usage: "backup FILE|DIR|-",
  positional: true,
  summary: "back up the data file, even while the service runs",
  examples: ["plant-store backup plants-2026-11-15.db", "plant-store backup backups --keep 7"],
  flags: {
    keep: {
      placeholder: "N",
      help: "keep the newest N backups in the folder and delete the others",
    },
    ...dataFileFlags,
  },
  async run(args, terminal) {
    const from = dataFile(args, "pg_dump");
    const keep = parseFlag(args, "keep", (text) => parseCount(text, 1, keepMax));
    const to = args.positional;
    const existing = writing(to, () => statSync(to, { throwIfNoEntry: false }));
    const isFolder = existing?.isDirectory() ?? keep !== undefined;
    if (keep !== undefined && (to === "-" || !isFolder)) throw new UsageError("--keep needs a folder");
    if (to === "-") return backUpToOutput(from, args, terminal);
    const folder = isFolder ? new BackupFolder(from, to) : undefined;
    using _lock = folder?.lock();
    const atMs = Date.now();
    const file = folder?.prepareFile(atMs) ?? to;
    const done = await withProgress(terminal, "backing up", () => backUp(from, file));
    record(from, atMs, done, terminal);
    if (folder !== undefined) recordDigest(done);
    const isSound = done.changedBlocks.length === 0;
    // The older ones may still have the plants as they were stored.
    const removed = keep === undefined || !isSound ? [] : (folder?.removeOldest(keep, file) ?? []);
    if (args.has("json")) printJson(terminal, { ...done, removed });
    else {
      terminal.note(summaryOf("Backed up and checked", done));
      for (const path of removed) terminal.note(`Removed ${path}.\n`);
    }
    if (!isSound) terminal.err(changedText(from, done));
    return isSound ? 0 : 1;
  },
};

export const restore: Command = {
  usage: "restore FILE",
  positional: true,
  summary: "restore a data file from a backup",
  examples: [
    "plant-store restore plants-2026-11-15.db --replace",
    "plant-store restore plants-2026-11-15.db --database drill/plant-store.db",
  ],
  flags: {
    replace: { help: "move a data file that is there into a dated folder beside it, and take its place" },
    ...dataFileFlags,
  },
  async run(args, terminal) {
    const to = dataFile(args, "pg_restore");
    const from = args.positional;
    const restoreFile = args.has("replace") ? restoreInPlace : restoreBackup;
    const done = await withProgress(terminal, "restoring", () =>
      restoreFile(from, to, lostWalWarning(terminal)),
    );
    if (args.has("json")) printJson(terminal, done);
    else terminal.note(summaryOf(done.checksummed ? "Restored and checked" : "Restored", done));
    if (done.before !== null && !args.has("json")) terminal.note(beforeText(done.before, to));
    if (!done.checksummed)
      terminal.err(
        `plant-store: ${checksumFile(from)} is missing, so the content of ${from} was checked only by its digests: ${formatCount(done.matchedPlants)} of ${formatPlants(done.plants)} match one. To check all of it, put that file beside the backup and restore again.\n`,
      );
    if (done.changedBlocks.length > 0) terminal.err(changedText(from, done));
    return 0;
  },
};

/** Where the old files are, and the one command that goes back to them. */
function beforeText(folder: string, to: string): string {
  const old = join(folder, basename(realDataFile(to)));
  const where = `What was there before is in ${folder}.`;
  // Without an old data file, or with a WAL that belongs to no file any more, there is nothing to go back to.
  if (!existsSync(old)) return `${where}\n`;
  const database = to === settings.database.default ? "" : ` --database ${shellQuoted(to)}`;
  return `${where} To go back to it:\n  plant-store restore ${shellQuoted(old)} --replace${database}\n`;
}

async function backUpToOutput(from: string, args: Arguments, terminal: Terminal): Promise<number> {
  if (args.has("json")) throw new UsageError("--json cannot be combined with a backup to standard output");
  if (terminal.outIsTerminal)
    throw new UsageError("standard output is a terminal; redirect it to a file or a pipe");
  const atMs = Date.now();
  const done = await withProgress(terminal, "backing up", () =>
    streamBackup(from, terminal.outWithBackpressure),
  );
  record(from, atMs, done, terminal);
  terminal.note(summaryOf("Backed up and checked", { ...done, path: "standard output" }));
  if (done.changedBlocks.length === 0) return 0;
  terminal.err(changedText(from, done));
  return 1;
}

/** The copy is complete, and the same as its source; but that is not as it was stored. */
function changedText(from: string, { changedBlocks }: Pick<BackupFile, "changedBlocks">): string {
  const blocks = describeEachBlock(changedBlocks).join(", ");
  return `plant-store: plants in ${from} were changed after they were stored, in ${blocks}. The copy has them as they are now; an older backup may have them as they were: compare them with verify --against.\n`;
}

/** A backup is good even if its time cannot be recorded, such as on read-only media. */
function record(from: string, atMs: number, digest: StoreDigest, { err }: Terminal): void {
  try {
    recordBackup(from, atMs, digest);
  } catch (error) {
    err(`plant-store: the time of this backup could not be recorded: ${(error as Error).message}\n`);
  }
}

export async function withProgress<Result>(
  terminal: Terminal,
  what: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const startMs = performance.now();
  using _line = showProgress(terminal, () => `${what}  ${secondsSince(startMs)} s`);
  return await work();
}

function summaryOf(verb: string, { path, bytes, plants, sha256, ...digest }: BackupFile): string {
  const done = `${verb} ${formatPlants(plants)}: ${path}, ${formatBytes(bytes)}.`;
  return `${done}\nSHA-256 ${sha256}\n${digestText(digest)}`;
}

/** A line with the digest of a store; empty before the first block is full. */
export function digestText({ coveredPlants, digest }: StoreDigest): string {
  return digest === null ? "" : `Digest of the first ${formatPlants(coveredPlants)}: ${digest}\n`;
}

export function dataFile(args: Arguments, postgresTool: string): string {
  const { database } = readConfig(args.sources);
  if (isDatabaseUrl(database))
    throw new UsageError(`this command is for data files; for PostgreSQL use ${postgresTool}`);
  return database;
}
