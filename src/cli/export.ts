import { readConfig } from "../config/read-config.ts";
import { parseChoice } from "../config/values.ts";
import { exportFormatNames, exportFormats, exportText } from "../files/export-formats.ts";
import { pagesOf } from "../plants/plant-archive.ts";
import { openArchive } from "../storage/open-store.ts";
import { parseFlag } from "./arguments.ts";
import type { Command } from "./command.ts";
import { lostWalWarning } from "./local-files.ts";
import { filterFlags, parseFilter } from "./plant-filter.ts";
import { formatCount, formatPlants, showProgress } from "./terminal.ts";

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
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    const name = parseFlag(args, "format", (text) => parseChoice(text, exportFormatNames)) ?? "ndjson";
    const format = exportFormats[name];
    const filter = parseFilter(args);
    await using opened = await openArchive(readConfig(args.sources), lostWalWarning(terminal));
    const total = await opened.archive.total();
    let exported = 0;
    let searchedRows = 0;
    const startMs = performance.now();
    const line = () => {
      const perSecond = Math.round((exported * 1000) / (performance.now() - startMs));
      const percent = Math.floor((searchedRows * 100) / Math.max(total, 1));
      return `${formatPlants(exported)}  ${formatCount(perSecond)}/s  ${percent}% of the store`;
    };
    // If the rows go to the terminal, the progress would be drawn between them.
    using _progress = terminal.outIsTerminal ? undefined : showProgress(terminal, line);
    async function* countedPages() {
      for await (const page of pagesOf(opened.archive, filter, pageRows)) {
        yield page;
        // By now the page is written.
        exported += page.plants.length;
        searchedRows += page.searched;
      }
    }
    for await (const text of exportText(countedPages(), format)) {
      const isRead = await terminal.outWithBackpressure(text);
      if (!isRead) break;
    }
    return 0;
  },
};
