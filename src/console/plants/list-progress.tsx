import { errorMessage } from "../api.ts";
import { formatCount, formatPlural } from "../format.ts";
import { Button } from "../parts/controls.tsx";
import type { Counted } from "./plant-count.ts";
import type { PlantList } from "./plant-list.ts";

interface ListProgressProps {
  readonly list: PlantList;
  readonly counted: Counted | undefined;
  /** Whether it lists only what matches a filter. */
  readonly filtered: boolean;
  readonly reloading: boolean;
  /** A search scans the store, so its progress is shown. */
  readonly searching: boolean;
  readonly onReload: () => void;
}

/** How many plants there are, or what is going on, below the table. */
export function ListProgress(props: ListProgressProps) {
  const { list, counted, filtered, reloading, onReload } = props;
  const status = statusText(props);
  const busy = reloading || list.state === "loading";
  return (
    <div class="progress-line">
      <p aria-hidden="true">{status}</p>
      {/* A screen reader reads the result of a search, and not every step of it. */}
      <p class="visually-hidden" role="status">
        {filtered && !busy && counted?.done && status}
      </p>
      {list.state === "failed" && (
        <Button
          class="quiet small"
          onClick={() => (list.rows.length === 0 ? onReload() : void list.loadMore())}
        >
          Retry
        </Button>
      )}
    </div>
  );
}

function statusText({ list, counted, filtered, reloading, searching }: ListProgressProps): string {
  const { state, rows } = list;
  if (reloading) return "Loading…";
  if (state === "failed") return errorMessage(list.error);
  if (state === "full") return `${formatPlural(rows.length, "plant")} loaded, the maximum for one table.`;
  if (searching && state === "loading")
    return `Searched ${formatPlural(list.searched, "plant")}, found ${formatCount(rows.length)}…`;
  if (counted === undefined) return state === "loading" ? "Loading…" : "Counting…";
  const plants = formatPlural(counted.plants, "plant");
  const matching = filtered ? `${plants} ${counted.plants === 1 ? "matches" : "match"}` : plants;
  return counted.done ? matching : `Over ${matching}`;
}
