import { isDatabaseUrl, withoutPassword } from "../config/database.ts";
import { readStoreConfig } from "../config/read-config.ts";
import { parseId } from "../files/plant-json.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import type { Step } from "../plants/plant-backups.ts";
import { type CopyCounts, copyStore } from "../storage/copy-store.ts";
import { createStore, openForReading, openStore } from "../storage/open-store.ts";
import { refuseMissingFile } from "../storage/sqlite/data-file/data-file-path.ts";
import { isSameFile } from "../storage/sqlite/data-file/inode.ts";
import { Problem } from "../system/problem.ts";
import { formatCount, formatPlural } from "../text/counts.ts";
import { capitalized } from "../text/words.ts";
import { readFlags, UsageError, wrongUsageError } from "./arguments.ts";
import { type Command, jsonFlag, storeSecrets } from "./command.ts";
import { noteOfNewFile } from "./new-data-file.ts";
import { type Progress, progressOfStep, showProgress } from "./progress.ts";
import {
  abortOnStopSignal,
  escapeInvisible,
  printInterrupted,
  printJson,
  type Terminal,
} from "./terminal.ts";

export const copy: Command = {
  usage: "copy --from DATABASE --to DATABASE",
  summary: "copy one store to another, on either engine; run it again to resume",
  examples: [
    "plant-store copy --from plants.db --to postgres://plants@db.example.org/plants",
    "plant-store copy --from postgres://plants@db.example.org/plants --to plants.db",
    "plant-store copy --from plants.db --to new.db --without 4711",
  ],
  flags: {
    from: {
      placeholder: "DATABASE",
      help: "a data file or postgres://…, preferably not in use by a service (required)",
    },
    to: { placeholder: "DATABASE", help: "a data file or postgres://…, created if missing (required)" },
    without: { placeholder: "ID", help: "leave out this plant, in a new store; may be repeated" },
    json: jsonFlag,
  },
  settings: ["allowUnsafeDatabase"],
  secrets: storeSecrets,
  async run(args, terminal) {
    // Two different stores, of which the first exists.
    const from = args.value("from");
    const to = args.value("to");
    if (from === undefined || to === undefined) throw wrongUsageError(copy);
    if (from === to || isSameFile(from, to)) throw new UsageError("--from and --to are the same");
    if (!isDatabaseUrl(from)) refuseMissingFile(from, "Check --from.");
    const without = new Set(readFlags(args, "without", parseId));

    // Both are opened as a command with that --database would open it.
    const { sources } = args;
    const configFor = (database: string) =>
      readStoreConfig({ ...sources, flags: { ...sources.flags, database } });
    await using source = await openForReading(configFor(from));
    await refuseUnknownIds(source.archive, without);
    const created = noteOfNewFile(to);
    await using target = without.size > 0 ? await createStore(configFor(to)) : await openStore(configFor(to));
    terminal.note(created);
    const hadPlants = await hasPlants(target.archive);

    // The copy, with its progress. A plant that the target refuses does not end it.
    const stop = abortOnStopSignal(terminal);
    let step: Step | undefined;
    using line = showProgress(terminal, () => copyProgress(step));
    const onStep = (next: Step): void => {
      step = next;
    };
    const onFailed = (id: bigint, reason: string): void => {
      line.clear();
      terminal.err(`Plant ${id} cannot be stored: ${escapeInvisible(reason)}\n`);
    };
    const counts = await copyStore(source, target, { without, onStep, onFailed }, stop);
    line.end();
    if (stop.aborted) {
      const again =
        without.size > 0 ? `Delete ${withoutPassword(to)} and begin again.` : "Run this again; it resumes.";
      return printInterrupted(terminal, stop, `Interrupted. ${summary(counts)}. ${again}`);
    }

    const isIdentical = counts.problems.length === 0 && counts.failed === 0;
    if (args.has("json")) printJson(terminal, presentCopy(counts));
    else printCounts(terminal, counts, isIdentical);
    if (target.engine === "postgres" && hadPlants && counts.created > 0)
      terminal.note("Followers of the target that are past the times of these plants do not get them.\n");
    return isIdentical ? 0 : 1;
  },
};

/** @throws Problem the source lacks one of these plants. */
async function refuseUnknownIds(archive: PlantArchive, ids: ReadonlySet<bigint>): Promise<void> {
  const found = new Set((await archive.findAll([...ids])).map(({ id }) => id));
  for (const id of ids) if (!found.has(id)) throw new Problem(`No plant has the id ${id}. Check --without.`);
}

async function hasPlants(archive: PlantArchive): Promise<boolean> {
  const { plants } = await archive.page({
    filter: {},
    order: "oldest-first",
    cursor: undefined,
    limit: 1,
    searchMsMax: 0,
  });
  return plants.length > 0;
}

/** What --json prints. */
interface CopyJson {
  readonly created: number;
  readonly replayed: number;
  readonly conflicts: number;
  readonly failed: number;
  readonly compared: number;
  readonly tokens: number;
  readonly problems: readonly string[];
}

function presentCopy(counts: CopyCounts): CopyJson {
  return {
    created: counts.created,
    replayed: counts.replayed,
    conflicts: counts.conflicts,
    failed: counts.failed,
    compared: counts.compared,
    tokens: counts.tokens,
    problems: counts.problems,
  };
}

function printCounts(terminal: Terminal, counts: CopyCounts, isIdentical: boolean): void {
  for (const problem of counts.problems) terminal.err(`${escapeInvisible(problem)}\n`);
  const print = isIdentical ? terminal.note : terminal.err;
  print(`${summary(counts)}, ${isIdentical ? "all identical" : "not all identical"}.\n`);
}

function copyProgress(step: Step | undefined): Progress {
  if (step === undefined) return { what: "Copying the store", done: 0, unit: "plants", share: undefined };
  return progressOfStep(capitalized(step.doing), step);
}

function summary({ created, replayed, conflicts, failed, tokens, compared }: CopyCounts): string {
  const differing = conflicts === 0 ? "" : `${formatCount(conflicts)} stored with other content, `;
  const notStored = failed === 0 ? "" : `${formatCount(failed)} cannot be stored, `;
  return (
    `${formatPlural(created, "plant")} copied, ${formatCount(replayed)} already stored, ${differing}${notStored}` +
    `${formatPlural(tokens, "token")} copied; ${formatCount(compared)} compared`
  );
}
