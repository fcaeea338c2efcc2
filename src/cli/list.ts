import { setImmediate as nextTurn } from "node:timers/promises";
import { presentPlant } from "../files/plant-json.ts";
import { pagesOf, type StoredPlant } from "../plants/plant-archive.ts";
import { formatCount, formatPlural } from "../text/counts.ts";
import { countFrom } from "../text/parsers.ts";
import { command, defaultingTo, flag, jsonFlag, switchFlag } from "./command.ts";
import { reading } from "./openings.ts";
import { filterFlags, filterOf } from "./plant-filter.ts";
import { showProgress, startsOver } from "./progress.ts";
import { type Column, formatTable } from "./table.ts";

const pageMax = 1000;
export const columns: readonly Column<StoredPlant>[] = [
  { heading: "id", cell: ({ id }) => String(id) },
  { heading: "createdAt", cell: ({ createdAtMs }) => createdAtMs },
  { heading: "name", cell: ({ name }) => name, isFreeText: true },
  { heading: "tag", cell: ({ tag }) => tag, isFreeText: true },
  { heading: "createdBy", cell: ({ createdBy }) => createdBy, isFreeText: true },
];

export const list = command({
  summary: "list plants, newest first",
  examples: [
    "plant-store list",
    "plant-store list --tag indoor --since 7d --limit 100",
    "plant-store list --name fern --json",
  ],
  flags: {
    ...filterFlags,
    limit: defaultingTo("20", flag("COUNT", "how many plants to list", countFrom(1, 100_000))),
    oldest: switchFlag("list the oldest first"),
    json: jsonFlag,
  },
  opens: reading,
  async run({ flags: { limit, oldest, json, ...filters }, opened: store }, terminal) {
    const filter = filterOf(filters);
    const found: StoredPlant[] = [];
    let searched = 0;
    // The share is unknown, since counting all plants may take longer than the search.
    const progress = () => ({
      what: "searching",
      share: undefined,
      outcome: `${formatPlural(searched, "plant")}, ${formatCount(found.length)} of which match`,
    });
    using line = showProgress(terminal, progress, { next: startsOver });
    // A page with a next one says only that there is more to search. So that people know whether there are more plants, one more
    // is searched for, which may take long.
    const wanted = json ? limit : limit + 1;
    const order = oldest ? "oldest-first" : "newest-first";
    for await (const page of pagesOf(store.archive, filter, Math.min(wanted, pageMax), order)) {
      found.push(...page.plants);
      if (found.length >= wanted) break;
      searched += page.searched;
      // Timers and signals have their turn.
      await nextTurn();
    }
    line[Symbol.dispose]();

    const plants = found.slice(0, limit);
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    if (json) terminal.printJson(plants.map(presentPlant));
    else if (plants.length === 0) terminal.note(isFiltered ? "No plants match.\n" : "No plants yet.\n");
    else terminal.out(`${formatTable(columns, plants, terminal)}\n`);
    if (found.length > limit && !json)
      terminal.note(`Showing the first ${formatCount(limit)}. Use --limit for more, or export for all.\n`);
    return true;
  },
});
