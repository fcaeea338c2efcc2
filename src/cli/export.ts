import { setImmediate as nextTurn } from "node:timers/promises";
import { exportFormatNames, exportFormats, exportText } from "../files/export-formats.ts";
import { pagesOf } from "../plants/plant-archive.ts";
import { formatPlural, shareOf } from "../text/counts.ts";
import { oneOf } from "../text/parsers.ts";
import { command, defaultingTo, flag } from "./command.ts";
import { reading } from "./openings.ts";
import { filterFlags, filterOf } from "./plant-filter.ts";
import { showProgress, startsOver } from "./progress.ts";

const pageRows = 5000;

export const exportPlants = command({
  summary: "export plants, oldest first, in a format that import can read",
  examples: [
    "plant-store export > plants.ndjson",
    "plant-store export --format csv --tag indoor > indoor.csv",
  ],
  flags: {
    format: defaultingTo(
      "ndjson",
      flag("FORMAT", "ndjson, json, csv, or csv-safe for spreadsheets", oneOf(exportFormatNames)),
    ),
    ...filterFlags,
  },
  opens: reading,
  async run({ flags: { format, ...filters }, opened: store }, terminal) {
    let exported = 0;
    let searched = 0;
    let total = 0;
    const progress = () => ({
      what: `exporting as ${format}`,
      share: shareOf(searched, total),
      outcome: formatPlural(exported, "plant"),
    });
    const next = `The output is not complete. ${startsOver}`;
    using line = showProgress(terminal, progress, { next, printsRows: true });
    total = await store.archive.total();

    async function* countedPages() {
      for await (const page of pagesOf(store.archive, filterOf(filters), pageRows)) {
        yield page;
        // By now the page is written. Timers and signals have their turn before the next one.
        exported += page.plants.length;
        searched += page.searched;
        await nextTurn();
      }
    }
    for await (const text of exportText(countedPages(), exportFormats[format])) {
      const isRead = await terminal.outWithBackpressure(text);
      if (!isRead) break;
    }
    line[Symbol.dispose]();
    if (terminal.errIsTerminal) terminal.note(`Exported ${formatPlural(exported, "plant")}.\n`);
    return true;
  },
});
