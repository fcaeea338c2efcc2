import { statSync } from "node:fs";
import type { OnStep } from "../plants/plant-backups.ts";
import { streamBackup, writeBackup } from "../storage/sqlite/copying/backup.ts";
import { BackupFolder, type CompletedBackup } from "../storage/sqlite/copying/backup-folder.ts";
import { isAsStored } from "../storage/sqlite/copying/copy.ts";
import { whyUnrecorded } from "../storage/sqlite/data-file/last-backup.ts";
import { misuse } from "../system/problem.ts";
import { countFrom } from "../text/parsers.ts";
import { command, flag, jsonFlag } from "./command.ts";
import { reportCopy } from "./copy-report.ts";
import { orCannotBeWritten } from "./file-problem.ts";
import { dataFile } from "./openings.ts";
import { startsOver, withSteps } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

const done = "Backed up and checked";

export const backup = command({
  usage: "backup FILE|DIR|-",
  summary: "back up the data file, even while the service runs",
  examples: ["plant-store backup plants-2026-11-15.db", "plant-store backup backups --keep 7"],
  flags: {
    keep: flag(
      "COUNT",
      "keep the newest backups in the folder and delete the others, unless one of them has more plants",
      countFrom(1, 100_000),
    ),
    json: jsonFlag,
  },
  argument: String,
  opens: dataFile("pg_dump"),
  async run({ flags: { keep, json }, argument: to, opened: { path: from } }, terminal) {
    const existing = orCannotBeWritten(to, () => statSync(to, { throwIfNoEntry: false }));
    const isFolder = existing?.isDirectory() ?? keep !== undefined;
    if (keep !== undefined && (to === "-" || !isFolder)) throw misuse("--keep needs a folder.");
    if (to === "-") {
      if (json) throw misuse("--json cannot be combined with a backup to standard output.");
      return backUpToOutput(from, terminal);
    }
    const next = `There is no backup. ${startsOver}`;
    const { made, removed, larger, unrecorded } = await withSteps(
      terminal,
      { object: from, next },
      (onStep) =>
        isFolder
          ? new BackupFolder(from, to).backUp(Date.now(), { keep, onStep })
          : backUpToFile(from, to, onStep),
    );
    reportCopy(terminal, { from, done, copied: made, unrecorded, json: json ? { removed } : undefined });
    if (!json) for (const path of removed) terminal.note(`Removed ${path}.\n`);
    if (larger !== undefined)
      terminal.warn(
        `${larger} has more plants than this backup, so no old backup was deleted. Is --database the right one? If it is, move that backup away.`,
      );
    return isAsStored(made) && larger === undefined ? 0 : 1;
  },
});

async function backUpToFile(from: string, to: string, onStep: OnStep): Promise<CompletedBackup> {
  const atMs = Date.now();
  const made = await writeBackup(from, to, onStep);
  return { made, removed: [], larger: undefined, unrecorded: whyUnrecorded(from, { atMs, ...made }) };
}

async function backUpToOutput(from: string, terminal: Terminal): Promise<number> {
  if (terminal.outIsTerminal) throw misuse("Standard output is a terminal; redirect it to a file or a pipe.");
  const atMs = Date.now();
  const next = `What was written is no complete backup. ${startsOver}`;
  const copied = await withSteps(terminal, { object: from, next }, (onStep) =>
    streamBackup(from, terminal.outWithBackpressure, onStep),
  );
  const unrecorded = whyUnrecorded(from, { atMs, ...copied });
  const path = "standard output";
  reportCopy(terminal, { from, done, copied: { ...copied, path }, unrecorded, json: undefined });
  return isAsStored(copied) ? 0 : 1;
}
