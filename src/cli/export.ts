import { exportFormatNames, exportFormats } from "../files/export-formats.ts";
import { pagesOf } from "../plants/plant-archive.ts";
import type { Command } from "./command.ts";
import { filterFlags, readFilter, withArchive } from "./plant-filter.ts";
import { grouped, showLine } from "./progress-line.ts";
import { Misuse } from "./terminal.ts";

const rowsAtOnce = 5000;

export const exportPlants: Command = {
  usage: "export",
  summary: "print plants, the oldest first, in a form that import takes back",
  examples: [
    "plant-store export > plants.ndjson",
    "plant-store export --format csv --tag indoor > indoor.csv",
  ],
  flags: {
    format: { placeholder: "FORMAT", help: `${exportFormatNames.join(" or ")} (ndjson)` },
    ...filterFlags,
  },
  settings: ["database", "allowUnsafeDatabase"],
  run(args, terminal) {
    if (args.words.length > 0)
      throw new Misuse(`"${args.words[0]}" is not expected here; export prints, so send it to a file with >`);
    const wanted = args.value("format") ?? "ndjson";
    const format = exportFormatNames.find((name) => name === wanted);
    if (format === undefined)
      throw new Misuse(`--format takes ${exportFormatNames.join(" or ")}; it is "${wanted}"`);
    const filter = readFilter(args);
    const { header, row } = exportFormats[format];
    return withArchive(args, terminal, async (archive) => {
      const total = await archive.total();
      let done = 0;
      let looked = 0;
      const startMs = performance.now();
      const line = () => {
        const perSecond = Math.round((done * 1000) / (performance.now() - startMs));
        return `${grouped(done)} plants  ${grouped(perSecond)}/s  ${Math.floor((looked * 100) / Math.max(total, 1))}% of the store`;
      };
      // Where the rows themselves go to the terminal, a line drawn between them would only be in the way.
      using _ = terminal.outIsTerminal ? undefined : showLine(terminal, line);
      if (header !== "") terminal.out(header);
      for await (const { plants, searched } of pagesOf(archive, filter, rowsAtOnce)) {
        const read = plants.length === 0 || (await terminal.outSlowly(plants.map(row).join("")));
        if (!read) break;
        done += plants.length;
        looked += searched;
      }
      return 0;
    });
  },
};
