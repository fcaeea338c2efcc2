import { isDatabaseUrl, parseDatabase, withoutPassword } from "../config/database.ts";
import { secrets, settings } from "../config/settings.ts";
import { parseId } from "../files/plant-json.ts";
import { type PlantArchive, pagesOf } from "../plants/plant-archive.ts";
import { type CopyCounts, copyStore, newCopyCounts } from "../storage/copy-store.ts";
import { openForReading, openStore } from "../storage/open-store.ts";
import { isSameFile } from "../storage/sqlite/data-file/inode.ts";
import { refuseMissingFile } from "../storage/sqlite/data-file/writer-lock.ts";
import { misuse, Problem } from "../system/problem.ts";
import { formatCount, formatPlural } from "../text/counts.ts";
import { command, flag, jsonFlag, repeatedFlag, required } from "./command.ts";
import { notingNewFile, storeSetting } from "./openings.ts";
import { resumes, withSteps } from "./progress.ts";

export const copy = command({
  summary: "copy a store to another engine or file; run it again to resume",
  examples: [
    "plant-store copy --from plants.db --to postgres://plants@db.example.org/plants",
    "plant-store copy --from postgres://plants@db.example.org/plants --to plants.db",
    "plant-store copy --from plants.db --to new.db --without 4711",
  ],
  flags: {
    from: required(
      flag("DATABASE", "a data file or postgres://…, preferably not in use by a service", parseDatabase),
    ),
    to: required(
      flag(
        "DATABASE",
        "a data file, created if missing, or postgres://… of an empty database",
        parseDatabase,
      ),
    ),
    without: repeatedFlag("ID", "leave out this plant, in a new store; may be repeated", parseId),
    json: jsonFlag,
  },
  settings: [settings.allowUnsafeDatabase],
  secrets: [secrets.databasePassword],
  async run({ flags: { from, to, without: ids, json }, sources }, terminal) {
    // Two different stores, of which the first exists.
    if (from === to || isSameFile(from, to)) throw misuse("--from and --to are the same.");
    if (!isDatabaseUrl(from)) refuseMissingFile(from, "Check --from.");
    const without = new Set(ids);
    const counts = newCopyCounts();
    const configFor = (database: string) =>
      storeSetting({ ...sources, flags: { ...sources.flags, database } }, terminal);
    const next = without.size > 0 ? `Delete ${withoutPassword(to)} and begin again.` : resumes;
    const object = withoutPassword(from);
    const mayHaveFollowers = await withSteps(terminal, { object, next }, async (onStep) => {
      // Both are opened as a command with that --database would open it.
      await using source = await openForReading(configFor(from));
      await refuseUnknownIds(source.archive, without);
      await using target = await notingNewFile(to, terminal, () => openStore(configFor(to)));
      const first = await pagesOf(target.archive, {}, 1).next();
      const hadPlants = !first.done && first.value.plants.length > 0;
      if (hadPlants && without.size > 0)
        throw new Problem(`${withoutPassword(to)} has plants already; with --without, name a new store.`);

      // A plant that the target refuses does not end the copy.
      const onFailed = (id: bigint, reason: string) =>
        terminal.err(`Plant ${id} cannot be stored: ${reason}\n`);
      await copyStore(source, target, counts, { without, onStep, onFailed });
      return target.engine === "postgres" && hadPlants;
    });

    const isIdentical = counts.differing + counts.failed === 0;
    const print = isIdentical ? terminal.note : terminal.err;
    const outcome = isIdentical
      ? "all identical."
      : `not all identical. If plants arrived meanwhile, stop the service first. ${next}`;
    const sum = `${summary(counts)}, ${outcome}`;
    const unlisted = counts.differing - counts.problems.length;
    const more = unlisted > 0 ? [`and ${formatCount(unlisted)} more`] : [];
    if (json) terminal.printJson(counts);
    else print(`${[sum, ...counts.problems, ...more].join("\n")}\n`);
    if (mayHaveFollowers && counts.created > 0)
      terminal.note("Followers of the target that are past the times of these plants do not get them.\n");
    return isIdentical;
  },
});

/** @throws Problem the source lacks one of these plants. */
async function refuseUnknownIds(archive: PlantArchive, ids: ReadonlySet<bigint>): Promise<void> {
  const found = new Set((await archive.findAll([...ids])).map(({ id }) => id));
  for (const id of ids) if (!found.has(id)) throw new Problem(`No plant has the id ${id}. Check --without.`);
}

function summary({ created, replayed, conflicts, failed, tokens, compared }: CopyCounts): string {
  const differing = conflicts === 0 ? "" : `${formatCount(conflicts)} stored with other content, `;
  const notStored = failed === 0 ? "" : `${formatCount(failed)} cannot be stored, `;
  return (
    `${formatPlural(created, "plant")} copied, ${formatCount(replayed)} already stored, ${differing}${notStored}` +
    `${formatPlural(tokens, "token")} copied; ${formatCount(compared)} compared`
  );
}
