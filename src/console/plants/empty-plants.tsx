import { formatPlural } from "../format.ts";
import { FirstPlant } from "../parts/first-plant.tsx";
import { EmptyState } from "../parts/notice.tsx";
import { isFiltered, type PlantFilter } from "./plant-filter.ts";
import type { PlantList } from "./plant-list.ts";

interface EmptyPlantsProps {
  readonly filter: PlantFilter;
  readonly list: PlantList;
  readonly onClear: () => void;
}

/** Shown if no plant matches the filter, or the store is empty. */
export function EmptyPlants({ filter, list, onClear }: EmptyPlantsProps) {
  if (isFiltered(filter)) {
    return (
      <EmptyState title={list.state === "stopped" ? "No matches so far" : "No plants match"}>
        <p>
          {list.searched > 0 && `Searched ${formatPlural(list.searched, "plant")}. `}
          The search finds any part of a name and ignores case. Tag, id and token must match exactly.
        </p>
        <div class="actions">
          {list.state === "stopped" && (
            <button type="button" class="quiet" onClick={() => void list.loadMore()}>
              Continue
            </button>
          )}
          <button type="button" class="quiet" onClick={onClear}>
            Clear filters
          </button>
        </div>
      </EmptyState>
    );
  }
  return <FirstPlant />;
}
