import { readConfig } from "../config/read-config.ts";
import { type CopyCounts, compareStores, copyStore } from "../storage/copy-store.ts";
import { openArchive, openStore } from "../storage/open-store.ts";
import { isDatabaseUrl } from "../storage/postgres/database-url.ts";
import { refuseMissingFile } from "../storage/sqlite/data-file/data-file-path.ts";
import { isSameFile } from "../storage/sqlite/data-file/durable-files.ts";
import { wrongUsage } from "./arguments.ts";
import { type Command, jsonFlag } from "./command.ts";
import { noteOfNewFile } from "./local-files.ts";
import { type Progress, shareOf, showProgress } from "./progress.ts";
import {
  escapeInvisible,
  formatCount,
  formatPlants,
  interruptedCode,
  plural,
  printJson,
  printParagraph,
  stopSignalOf,
  UsageError,
} from "./terminal.ts";

export const copy: Command = {
  usage: "copy --from DATABASE --to DATABASE",
  summary: "copy one store to another, on either engine; run it again to resume",
  examples: [
    "plant-store copy --from plants.db --to postgres://plants@db.example.org/plants",
    "plant-store copy --from postgres://plants@db.example.org/plants --to plants.db",
  ],
  flags: {
    from: {
      placeholder: "DATABASE",
      help: "a data file or postgres://…, preferably not in use by a service (required)",
    },
    to: { placeholder: "DATABASE", help: "a data file or postgres://…, created if missing (required)" },
    json: jsonFlag,
  },
  settings: ["allowUnsafeDatabase"],
  async run(args, terminal) {
    const from = args.value("from");
    const to = args.value("to");
    if (from === undefined || to === undefined) throw wrongUsage(copy);
    if (from === to || isSameFile(from, to)) throw new UsageError("--from and --to are the same");
    if (!isDatabaseUrl(from)) refuseMissingFile(from, "Check --from.");
    const sources = args.sources;
    const configFor = (database: string) => readConfig({ ...sources, flags: { ...sources.flags, database } });
    await using source = await openArchive(configFor(from));
    const created = noteOfNewFile(to);
    await using target = await openStore(configFor(to));
    terminal.note(created);
    const total = await source.archive.total();
    const counts: CopyCounts = {
      created: 0,
      replayed: 0,
      conflicts: 0,
      failed: 0,
      compared: 0,
      tokens: 0,
      problems: [],
    };
    const failed = new Set<bigint>();
    const stop = stopSignalOf(terminal);
    using line = showProgress(terminal, () => copyProgress(counts, total));
    const reportFailed = (id: bigint, reason: string): void => {
      failed.add(id);
      line.clear();
      terminal.err(`Plant ${id} cannot be stored: ${escapeInvisible(reason)}\n`);
    };
    await copyStore(source, target, counts, reportFailed, stop);
    if (!stop.aborted) await compareStores(source, target.archive, counts, failed, stop);
    line.end();
    if (stop.aborted) {
      printParagraph(terminal, `Interrupted. ${summary(counts, failed.size)}. Run this again; it resumes.`);
      return interruptedCode(stop.reason);
    }
    if (args.has("json")) printJson(terminal, counts);
    for (const problem of counts.problems) terminal.err(`${escapeInvisible(problem)}\n`);
    const identical = counts.problems.length === 0 && failed.size === 0;
    const report = identical ? terminal.note : terminal.err;
    report(`${summary(counts, failed.size)}, ${identical ? "all identical" : "not all identical"}.\n`);
    return identical ? 0 : 1;
  },
};

function copyProgress(
  { created, replayed, conflicts, failed, compared }: CopyCounts,
  total: number,
): Progress {
  const isComparing = compared > 0;
  const done = (isComparing ? compared : created + replayed + conflicts) + failed;
  const what = isComparing ? "Comparing both stores" : "Copying the store";
  return { what, done, unit: "plants", share: shareOf(done, total) };
}

function summary({ created, replayed, conflicts, tokens, compared }: CopyCounts, failed: number): string {
  const differing = conflicts === 0 ? "" : `${formatCount(conflicts)} stored with other content, `;
  const notStored = failed === 0 ? "" : `${formatCount(failed)} cannot be stored, `;
  return (
    `${formatPlants(created)} copied, ${formatCount(replayed)} already stored, ${differing}${notStored}` +
    `${plural(tokens, "token", "tokens")} copied; ${formatCount(compared)} compared`
  );
}
