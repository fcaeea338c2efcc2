import { statSync } from "node:fs";
import { parseCount } from "../config/values.ts";
import type { StoreDigest } from "../storage/sqlite/block-digests.ts";
import { backUp, recordBackup, streamBackup } from "../storage/sqlite/maintenance/backup.ts";
import { BackupFolder, recordDigest } from "../storage/sqlite/maintenance/backup-folder.ts";
import { messageOf } from "../system/errors.ts";
import { parseFlag } from "./arguments.ts";
import type { Arguments, Command } from "./command.ts";
import { changedText, dataFile, dataFileFlags, summaryOf, withProgress } from "./data-file-command.ts";
import { writing } from "./local-files.ts";
import { printJson, type Terminal, UsageError } from "./terminal.ts";

const keepMax = 100_000;

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
    const done = await withProgress(terminal, {
      file: from,
      ifInterrupted: "There is no backup.",
      run: (onStep) => backUp(from, file, onStep),
    });
    record(from, atMs, done, terminal);
    if (folder !== undefined) recordDigest(done);
    const isSound = done.changedBlocks.length === 0;
    // If plants were changed, the older backups may still have them as they were stored.
    const removed = keep === undefined || !isSound ? [] : (folder?.removeOldest(keep, file) ?? []);
    if (args.has("json")) {
      printJson(terminal, { ...done, removed });
    } else {
      terminal.note(summaryOf("Backed up and checked", done));
      for (const path of removed) terminal.note(`Removed ${path}.\n`);
    }
    if (!isSound) terminal.err(changedText(from, done));
    return isSound ? 0 : 1;
  },
};

async function backUpToOutput(from: string, args: Arguments, terminal: Terminal): Promise<number> {
  if (args.has("json")) throw new UsageError("--json cannot be combined with a backup to standard output");
  if (terminal.outIsTerminal)
    throw new UsageError("Standard output is a terminal; redirect it to a file or a pipe");
  const atMs = Date.now();
  const done = await withProgress(terminal, {
    file: from,
    ifInterrupted: "What was written is no complete backup.",
    run: (onStep) => streamBackup(from, terminal.outWithBackpressure, onStep),
  });
  record(from, atMs, done, terminal);
  terminal.note(summaryOf("Backed up and checked", { ...done, path: "standard output" }));
  if (done.changedBlocks.length === 0) return 0;
  terminal.err(changedText(from, done));
  return 1;
}

/** A backup is good even if its time cannot be recorded, such as on read-only media. */
function record(from: string, atMs: number, digest: StoreDigest, { err }: Terminal): void {
  try {
    recordBackup(from, atMs, digest);
  } catch (error) {
    err(`plant-store: The time of this backup could not be recorded: ${messageOf(error)}\n`);
  }
}
