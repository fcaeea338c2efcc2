import { errorMessage } from "../api.ts";
import { formatCount, formatPlural } from "../format.ts";
import { Button } from "../parts/controls.tsx";
import type { PlantList } from "./plant-list.ts";

interface ListProgressProps {
  readonly list: PlantList;
  /** Whether it lists only what matches a filter. */
  readonly filtered: boolean;
  readonly reloading: boolean;
  readonly onReload: () => void;
}

/** How many plants there are, or what is going on, below the table. */
export function ListProgress(props: ListProgressProps) {
  const { list, filtered, reloading, onReload } = props;
  const status = statusText(props);
  const isResult = filtered && !reloading && list.state !== "loading" && list.count !== undefined;
  return (
    <div class="progress-line">
      <p aria-hidden="true">{status}</p>
      {/* A screen reader reads the result of a search, and not every step of it. */}
      <p class="visually-hidden" role="status">
        {isResult && status}
      </p>
      {list.state === "failed" && (
        <Button onClick={() => (list.rows.length === 0 ? onReload() : void list.loadMore())}>Retry</Button>
      )}
    </div>
  );
}

function statusText({ list, filtered, reloading }: ListProgressProps): string {
  const { state, rows, count, isOutdated } = list;
  if (reloading) return "Loading…";
  if (state === "failed") return errorMessage(list.error);
  if (state === "full") return `${formatPlural(rows.length, "plant")} loaded, the maximum for one table.`;
  if (count === undefined && state === "loading")
    return `Searched ${formatPlural(list.searched, "plant")}, found ${formatCount(rows.length)}…`;
  const known = count ?? rows.length;
  const atLeast = count === undefined || isOutdated ? "Over " : "";
  const matching = filtered ? (known === 1 ? " matches" : " match") : "";
  return atLeast + formatPlural(known, "plant") + matching;
}
