import { setImmediate as nextTurn } from "node:timers/promises";
import { readStoreConfig } from "../config/read-config.ts";
import { presentPlant } from "../files/plant-json.ts";
import { type PageRequest, type PlantArchive, pagesOf, type StoredPlant } from "../plants/plant-archive.ts";
import { openForReading } from "../storage/open-store.ts";
import { formatCount, formatPlural } from "../text/counts.ts";
import { countFrom } from "../text/parsers.ts";
import { isoSeconds } from "../text/time.ts";
import { readFlag } from "./arguments.ts";
import { type Command, storeSecrets, storeSettings } from "./command.ts";
import { lostWalWarning } from "./lost-wal.ts";
import { filterFlags, readFilterFlags } from "./plant-filter.ts";
import { showProgress } from "./progress.ts";
import { type Column, formatTable } from "./table.ts";
import {
  abortOnStopSignal,
  escapeInvisible,
  printInterrupted,
  printJson,
  type Terminal,
  visibleText,
} from "./terminal.ts";

const limitDefault = 20;
const limitMax = 100_000;
const pageMax = 1000;
const columns: readonly Column<StoredPlant>[] = [
  { heading: "id", text: ({ id }) => String(id) },
  { heading: "name", text: ({ name }) => visibleText(name), canBeCut: true },
  { heading: "tag", text: ({ tag }) => (tag === undefined ? "" : visibleText(tag)), canBeCut: true },
  { heading: "createdAt", text: ({ createdAtMs }, time) => time(isoSeconds(createdAtMs)) },
  { heading: "createdBy", text: ({ createdBy }) => escapeInvisible(createdBy), canBeCut: true },
];

export const list: Command = {
  usage: "list",
  summary: "list plants, newest first",
  examples: [
    "plant-store list",
    "plant-store list --tag indoor --limit 100",
    "plant-store list --name fern --json",
  ],
  flags: {
    ...filterFlags,
    limit: { placeholder: "COUNT", help: `how many plants to list (${limitDefault})` },
    oldest: { help: "list the oldest first" },
    json: { help: "print JSON, with ids as strings" },
  },
  settings: storeSettings,
  secrets: storeSecrets,
  async run(args, terminal) {
    const filter = readFilterFlags(args);
    const limit = readFlag(args, "limit", countFrom(1, limitMax)) ?? limitDefault;
    const order = args.has("oldest") ? "oldest-first" : "newest-first";
    await using opened = await openForReading(readStoreConfig(args.sources), lostWalWarning(terminal));
    const stop = abortOnStopSignal(terminal);
    let searched = 0;
    using line = showProgress(terminal, () => ({
      what: "Searching",
      done: searched,
      unit: "plants",
      // The share is unknown, since counting all plants may take longer than the search.
      share: undefined,
    }));
    const onSearched = (count: number): void => {
      searched += count;
    };
    // A page with a next one says only that there is more to search. So that people know whether there are more plants, one more
    // is searched for, which may take long.
    const matchesMax = args.has("json") ? limit : limit + 1;
    const wanted = { filter, order, limit: matchesMax } as const;
    const found = await firstPlants(opened.archive, wanted, onSearched, stop);
    const plants = found.slice(0, limit);
    line.end();
    const isComplete = plants.length === limit;
    if (stop.aborted && !isComplete)
      return printInterrupted(
        terminal,
        stop,
        `Interrupted after ${formatPlural(searched, "plant")}, ${formatCount(plants.length)} of which match. Run this again; it starts from the beginning.`,
      );
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    if (args.has("json")) printJson(terminal, plants.map(presentPlant));
    else printPlants(terminal, plants, { isCut: found.length > limit, isFiltered });
    return stop.aborted ? printInterrupted(terminal, stop, "Interrupted while searching for more.") : 0;
  },
};

function printPlants(
  terminal: Terminal,
  plants: readonly StoredPlant[],
  { isCut, isFiltered }: { readonly isCut: boolean; readonly isFiltered: boolean },
): void {
  if (plants.length === 0) terminal.note(isFiltered ? "No plants match.\n" : "No plants yet.\n");
  else terminal.out(`${formatTable(columns, plants, terminal)}\n`);
  if (isCut)
    terminal.note(
      `Showing the first ${formatCount(plants.length)}. Use --limit for more, or export for all.\n`,
    );
}

/**
 * The first plants that match, or somewhat more. After each page, `onSearched` gets how many it searched. A stop ends it early,
 * with what was found.
 */
async function firstPlants(
  archive: PlantArchive,
  { filter, order, limit }: Pick<PageRequest, "filter" | "order" | "limit">,
  onSearched: (plants: number) => void,
  stop: AbortSignal,
): Promise<StoredPlant[]> {
  const plants: StoredPlant[] = [];
  for await (const page of pagesOf(archive, filter, Math.min(limit, pageMax), order)) {
    plants.push(...page.plants);
    if (plants.length >= limit) break;
    // Timers and signals have their turn.
    await nextTurn();
    onSearched(page.searched);
    if (stop.aborted) break;
  }
  return plants;
}
