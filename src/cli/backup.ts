import { statSync } from "node:fs";
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

export const backup = command({
  summary: "back up the data file, even while the service runs",
  examples: ["plant-store backup plants-2026-11-15.db", "plant-store backup backups --keep 7"],
  flags: {
    keep: flag(
      "COUNT",
      "keep the newest backups in the folder and delete the others, unless one there has more plants",
      countFrom(1, 100_000),
    ),
    json: jsonFlag,
  },
  argument: { name: "FILE|DIR|-", parse: String },
  opens: dataFile("pg_dump"),
  async run({ flags: { keep, json }, argument: to, opened: { path: from } }, terminal) {
    // Where it goes: to a stream, into a folder, or into a new file.
    const isStream = to === "-";
    const existing = orCannotBeWritten(to, () => statSync(to, { throwIfNoEntry: false }));
    const isFolder = !isStream && (existing?.isDirectory() ?? keep !== undefined);
    if (keep !== undefined && !isFolder) throw misuse("--keep needs a folder.");
    if (isStream && json) throw misuse("--json cannot be combined with a backup to standard output.");
    if (isStream && terminal.outIsTerminal)
      throw misuse("Standard output is a terminal; redirect it to a file or a pipe.");

    const next = `${isStream ? "What was written is no complete backup." : "There is no backup."} ${startsOver}`;
    const { made, removed, larger, unrecorded } = await withSteps(
      terminal,
      { object: from, next },
      async (onStep): Promise<Omit<CompletedBackup, "warning">> => {
        const atMs = Date.now();
        if (isFolder) return new BackupFolder(from, to).backUp(atMs, { keep, onStep });
        const copied = isStream
          ? { path: "standard output", ...(await streamBackup(from, terminal.outWithBackpressure, onStep)) }
          : await writeBackup(from, to, onStep);
        const reason = whyUnrecorded(from, { atMs, ...copied });
        return { made: copied, removed: [], larger: [], unrecorded: reason };
      },
    );

    const done = "Backed up and checked";
    reportCopy(terminal, { from, done, copied: made, json: json ? { removed } : undefined });
    if (unrecorded !== undefined) terminal.warn(`This backup could not be recorded: ${unrecorded}.`);
    if (!json) for (const path of removed) terminal.note(`Removed ${path}.\n`);
    if (larger.length > 0)
      terminal.warn(
        `No old backup was deleted, since there are more plants in ${larger.join(", ")}. Is --database the right one? If it is, move what has more away.`,
      );
    return isAsStored(made) && larger.length === 0;
  },
});
