import type { RefObject } from "preact";
import { formatCount, formatPlural } from "../../text/counts.ts";
import { describeError } from "../api.ts";
import { Skeleton } from "../parts/content-states.tsx";
import { Button } from "../parts/controls.tsx";
import { Icon } from "../parts/icons.tsx";
import { isFiltered, type ListFilter } from "./list-filter.ts";
import type { PlantList } from "./plant-list.ts";
import { PlantTable } from "./plant-table.tsx";

interface ListCardProps {
  /** Undefined until the first response. */
  readonly list: PlantList | undefined;
  readonly isReloading: boolean;
  readonly filter: ListFilter;
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly onShowWaiting: () => void;
  readonly onReload: () => void;
  readonly onOrder: () => void;
}

/** The table of plants, with the button that shows new ones above it, and how many there are below. */
export function ListCard(props: ListCardProps) {
  const { list, isReloading, filter, scroller, onShowWaiting, onReload, onOrder } = props;
  const showWaiting = (): void => {
    onShowWaiting();
    scroller.current?.scrollTo(0, 0);
  };
  return (
    <div class="table-slot">
      <div class="table-card card">
        {list === undefined ? (
          <Skeleton lines={6} />
        ) : (
          <>
            {list.hasNew && (
              <Button class="pill" onClick={showWaiting}>
                <Icon name="up" /> {describeWaiting(list)}
              </Button>
            )}
            <PlantTable
              list={list}
              isBusy={isReloading || list.state === "loading"}
              order={filter.order}
              scroller={scroller}
              onOrder={onOrder}
            />
            <ListProgress
              list={list}
              hasFilter={isFiltered(filter)}
              isReloading={isReloading}
              onReload={onReload}
            />
          </>
        )}
      </div>
    </div>
  );
}

function describeWaiting({ waiting, isOutdated }: PlantList): string {
  if (!isOutdated) return formatPlural(waiting.length, "new plant");
  return waiting.length === 0 ? "New plants" : `${formatCount(waiting.length)}+ new plants`;
}

interface ListProgressProps {
  readonly list: PlantList;
  /** Whether it lists only what matches a filter. */
  readonly hasFilter: boolean;
  readonly isReloading: boolean;
  readonly onReload: () => void;
}

/** How many plants there are, or what is going on, below the table. */
function ListProgress(props: ListProgressProps) {
  const { list, hasFilter, isReloading, onReload } = props;
  const status = describeListStatus(props);
  const isResult = hasFilter && !isReloading && list.state !== "loading" && list.count !== undefined;
  return (
    <div class="progress-line">
      <p aria-hidden="true">{status}</p>
      {/* A screen reader reads the result of a search, and not every step of it. */}
      <p class="visually-hidden" role="status">
        {isResult && status}
      </p>
      {list.state === "failed" && (
        <Button
          onClick={() => {
            if (list.rows.length === 0) onReload();
            else void list.loadMore();
          }}
        >
          Retry
        </Button>
      )}
    </div>
  );
}

function describeListStatus({ list, hasFilter, isReloading }: ListProgressProps): string {
  const { state, rows, count, isOutdated } = list;
  if (isReloading) return "Loading…";
  if (state === "failed") return describeError(list.error);
  if (state === "full") return `${formatPlural(rows.length, "plant")} loaded, the maximum for one table.`;
  if (count === undefined && state === "loading")
    return `Searched ${formatPlural(list.searched, "plant")}, found ${formatCount(rows.length)}…`;
  const known = count ?? rows.length;
  const atLeast = count === undefined || isOutdated ? "Over " : "";
  const text = atLeast + formatPlural(known, "plant");
  if (!hasFilter) return text;
  return known === 1 ? `${text} matches` : `${text} match`;
}
