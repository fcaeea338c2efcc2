import { readConfig } from "../config/read-config.ts";
import { parseChoice } from "../config/values.ts";
import { exportFormatNames, exportFormats } from "../files/export-formats.ts";
import { pagesOf } from "../plants/plant-archive.ts";
import { openArchive } from "../storage/open-store.ts";
import { parseFlag } from "./arguments.ts";
import type { Command } from "./command.ts";
import { filterFlags, parseFilter } from "./plant-filter.ts";
import { formatCount, showProgress } from "./progress-line.ts";

const pageRows = 5000;

export const exportPlants: Command = {
  usage: "export",
  summary: "print plants, oldest first, in a format that import reads",
  examples: [
    "plant-store export > plants.ndjson",
    "plant-store export --format csv --tag indoor > indoor.csv",
  ],
  flags: {
    format: { placeholder: "FORMAT", help: "ndjson, csv, or csv-safe for spreadsheets (ndjson)" },
    ...filterFlags,
  },
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    const format = parseFlag(args, "format", (text) => parseChoice(text, exportFormatNames)) ?? "ndjson";
    const filter = parseFilter(args);
    const { header, row } = exportFormats[format];
    await using opened = await openArchive(readConfig(args.sources));
    const total = await opened.archive.total();
    let exported = 0;
    let searchedRows = 0;
    const startMs = performance.now();
    const line = () => {
      const perSecond = Math.round((exported * 1000) / (performance.now() - startMs));
      const percent = Math.floor((searchedRows * 100) / Math.max(total, 1));
      return `${formatCount(exported)} plants  ${formatCount(perSecond)}/s  ${percent}% of the store`;
    };
    // If the rows go to the terminal, progress would be drawn between them.
    using _ = terminal.outIsTerminal ? undefined : showProgress(terminal, line);
    if (header !== "") terminal.out(header);
    for await (const { plants, searched } of pagesOf(opened.archive, filter, pageRows)) {
      const rows = plants.map(row).join("");
      const isRead = rows === "" || (await terminal.outWithBackpressure(rows));
      if (!isRead) break;
      exported += plants.length;
      searchedRows += searched;
    }
    return 0;
  },
};
