import { setImmediate as nextTurn } from "node:timers/promises";
import { readStoreConfig } from "../config/read-config.ts";
import { exportFormatNames, exportFormats, exportText } from "../files/export-formats.ts";
import { pagesOf } from "../plants/plant-archive.ts";
import { openForReading } from "../storage/open-store.ts";
import { formatPlural, shareOf } from "../text/counts.ts";
import { oneOf } from "../text/parsers.ts";
import { readFlag } from "./arguments.ts";
import { type Command, storeSecrets, storeSettings } from "./command.ts";
import { lostWalWarning } from "./lost-wal.ts";
import { filterFlags, readFilterFlags } from "./plant-filter.ts";
import { type Progress, showProgress } from "./progress.ts";
import { abortOnStopSignal, printInterrupted } from "./terminal.ts";

const pageRows = 5000;

export const exportPlants: Command = {
  usage: "export",
  summary: "export plants, oldest first, in a format that import can read",
  examples: [
    "plant-store export > plants.ndjson",
    "plant-store export --format csv --tag indoor > indoor.csv",
  ],
  flags: {
    format: { placeholder: "FORMAT", help: "ndjson, json, csv, or csv-safe for spreadsheets (ndjson)" },
    ...filterFlags,
  },
  settings: storeSettings,
  secrets: storeSecrets,
  async run(args, terminal) {
    // What is exported, and how.
    const name = readFlag(args, "format", oneOf(exportFormatNames)) ?? "ndjson";
    const format = exportFormats[name];
    const filter = readFilterFlags(args);
    await using opened = await openForReading(readStoreConfig(args.sources), lostWalWarning(terminal));

    // A stop ends it early. A reader that has paused does not keep a stop waiting, nor does the count of the plants, which takes
    // seconds for millions of them on PostgreSQL.
    const stop = abortOnStopSignal(terminal);
    const stopped = new Promise<false>((resolve) => stop.addEventListener("abort", () => resolve(false)));
    let exported = 0;
    const interrupted = (): number =>
      printInterrupted(
        terminal,
        stop,
        `Interrupted after ${formatPlural(exported, "plant")}. The output is not complete. Run this again; it starts from the beginning.`,
      );

    // How far it is.
    const total = await Promise.race([opened.archive.total(), stopped]);
    if (total === false) return interrupted();
    let searched = 0;
    const progress = (): Progress => ({
      what: `Exporting as ${name}`,
      done: exported,
      unit: "plants",
      share: shareOf(searched, total),
    });
    // If the rows go to the terminal, the progress would be drawn between them.
    using line = terminal.outIsTerminal ? undefined : showProgress(terminal, progress);

    // The plants, page by page, until the end, a stop, or a reader that is gone.
    async function* countedPages() {
      for await (const page of pagesOf(opened.archive, filter, pageRows)) {
        yield page;
        // By now the page is written. Timers and signals have their turn before the next one.
        exported += page.plants.length;
        searched += page.searched;
        await nextTurn();
      }
    }
    for await (const text of exportText(countedPages(), format)) {
      if (stop.aborted) break;
      const isRead = await Promise.race([terminal.outWithBackpressure(text), stopped]);
      if (!isRead) break;
    }
    line?.end();

    if (stop.aborted) return interrupted();
    if (terminal.errIsTerminal) terminal.note(`Exported ${formatPlural(exported, "plant")}.\n`);
    return 0;
  },
};
