import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { databaseFlag } from "../config/database.ts";
import { checksumFile } from "../storage/sqlite/copying/checksum.ts";
import { restoreDataFile } from "../storage/sqlite/copying/restore.ts";
import { realDataFile } from "../storage/sqlite/data-file/data-file-path.ts";
import { formatCount, formatPlural } from "../text/counts.ts";
import { shellQuoted } from "../text/shell.ts";
import { command, jsonFlag, switchFlag } from "./command.ts";
import { reportCopy } from "./copy-report.ts";
import { dataFile } from "./openings.ts";
import { startsOver, withSteps } from "./progress.ts";

export const restore = command({
  summary: "restore a data file from a backup",
  examples: [
    "plant-store restore plants-2026-11-15.db --replace",
    "plant-store restore plants-2026-11-15.db --database drill/plant-store.db",
  ],
  flags: {
    replace: switchFlag("move a data file that is there into a dated folder beside it, and take its place"),
    json: jsonFlag,
  },
  argument: { name: "FILE", parse: String },
  opens: dataFile("pg_restore"),
  async run({ flags: { replace, json }, argument: from, opened: { path: to } }, terminal) {
    const next = `It is not restored. ${startsOver}`;
    const restored = await withSteps(terminal, { object: from, next }, (onStep) =>
      restoreDataFile(from, to, { replace, warn: (sentence) => terminal.warn(sentence), onStep }),
    );
    const { hasChecksum, before, plants, matchedPlants } = restored;
    const done = hasChecksum ? "Restored and checked" : "Restored";
    const more = json ? { checksummed: hasChecksum, before } : undefined;
    reportCopy(terminal, { from, done, copied: restored, json: more });
    if (before !== null && !json) terminal.note(beforeText(before, to));
    if (!hasChecksum)
      terminal.warn(
        `There is no ${checksumFile(from)}, so the content of ${from} was checked only by its digests: ${formatCount(matchedPlants)} of ${formatPlural(plants, "plant")} match one. If \`plant-store backup\` wrote that file, put it there and restore again: that checks all of it.`,
      );
    return true;
  },
});

/** Where the old files are, and the one command that goes back to them. */
function beforeText(folder: string, to: string): string {
  const old = join(folder, basename(realDataFile(to)));
  const where = `What was there before is in ${folder}.`;
  // Without an old data file, or with a WAL that belongs to no file any more, there is nothing to go back to.
  if (!existsSync(old)) return `${where}\n`;
  return `${where} To go back to it:\n  plant-store restore ${shellQuoted(old)} --replace${databaseFlag(to)}\n`;
}
