import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatCount, formatPlural } from "../format.ts";
import { AddPlantButton } from "../parts/add-plant-button.tsx";
import { Icon } from "../parts/icons.tsx";
import { ErrorNotice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Skeleton } from "../parts/panel.tsx";
import { useReading } from "../parts/use-reading.ts";
import { useRouter, withQuery } from "../router.ts";
import { EmptyPlants } from "./empty-plants.tsx";
import { ExportButtons } from "./export-buttons.tsx";
import { Filters } from "./filters.tsx";
import { ListProgress } from "./list-progress.tsx";
import { PlantDetail } from "./plant-detail.tsx";
import { filterQuery, isFiltered, type PlantFilter, readFilter } from "./plant-filter.ts";
import type { TablePosition, Waiting } from "./plant-list.ts";
import { PlantTable } from "./plant-table.tsx";
import { usePlantCount } from "./use-plant-count.ts";
import { topOfTable, usePlantList } from "./use-plant-list.ts";
import { useTableSize } from "./use-table-size.ts";

const tablePath = "/plants";
// The table counts as not scrolled within this distance of its top.
const atTopPx = 4;

export function PlantsPage() {
  const router = useRouter();
  const filter = readFilter(router.query);
  const selectedId = plantIdOf(router.path);
  const slot = useRef<HTMLDivElement>(null);
  const size = useTableSize(slot);
  const scroller = useRef<HTMLDivElement>(null);
  // The table may be gone when its position is saved.
  const scrolledPx = useRef(0);
  const [active, setActive] = useState(0);
  // After the details are closed, their row gets the focus.
  const mustFocusRow = useRef(false);
  const isReading = useReading(scroller);
  const moveTo = (position: TablePosition): void => {
    setActive(position.active);
    if (scroller.current !== null) scroller.current.scrollTop = position.scrollPx;
  };
  const { list, reloading, waiting, error, showWaiting, reload } = usePlantList(filter, {
    isFree: () => (scroller.current?.scrollTop ?? 0) < atTopPx && !isReading(),
    // A focused row keeps the focus; otherwise the arrow keys start at the top.
    onPrepend: (rows) =>
      setActive((previous) =>
        previous === 0 && !scroller.current?.contains(document.activeElement) ? 0 : previous + rows,
      ),
    position: () => ({ scrollPx: scrolledPx.current, active }),
    moveTo,
  });

  const change = (part: Partial<PlantFilter>, replace = false): void => {
    router.navigate(withQuery(router.path, filterQuery({ ...filter, ...part })), { replace });
  };
  const count = usePlantCount(filter, list, waiting);
  const queryText = filterQuery(filter).toString();
  const hrefOf = useCallback(
    (id: string) => withQuery(`${tablePath}/${id}`, new URLSearchParams(queryText)),
    [queryText],
  );
  const { navigate } = router;
  const open = useCallback((id: string) => navigate(hrefOf(id)), [hrefOf]);
  const closeDetail = (): void => {
    navigate(withQuery(tablePath, filterQuery(filter)));
    mustFocusRow.current = true;
  };
  useLayoutEffect(() => {
    if (!mustFocusRow.current) return;
    mustFocusRow.current = false;
    scroller.current?.querySelector<HTMLElement>('.row a[tabindex="0"]')?.focus();
  });

  const empty =
    list !== undefined && list.length === 0 && list.state !== "loading" && list.state !== "failed";
  return (
    <div class={`plants ${selectedId === undefined ? "" : "with-detail"} ${empty ? "is-empty" : ""}`}>
      <PageHead title="Plants">
        <ExportButtons filter={filter} />
        <AddPlantButton />
      </PageHead>
      {error !== undefined && <ErrorNotice error={error} onRetry={() => reload()} />}
      <Filters filter={filter} onChange={change} />
      <div class="table-slot" ref={slot}>
        <div class={empty ? "" : "table-card card"}>
          {(waiting.plants.length > 0 || waiting.more) && (
            <button
              type="button"
              class="pill"
              onClick={() => {
                showWaiting();
                moveTo(topOfTable);
              }}
            >
              <Icon name="up" /> {waitingText(waiting)}
            </button>
          )}
          {list === undefined ? (
            <Skeleton lines={6} class="table-skeleton" />
          ) : empty ? (
            <EmptyPlants filter={filter} list={list} onClear={() => navigate(tablePath)} />
          ) : (
            <PlantTable
              list={list}
              size={size}
              busy={reloading || list.state === "loading"}
              selectedId={selectedId}
              order={filter.order}
              scroller={scroller}
              onScroll={(px) => {
                scrolledPx.current = px;
              }}
              active={active}
              onActive={setActive}
              onOrder={() => change({ order: filter.order === "newest" ? "oldest" : "newest" })}
              hrefOf={hrefOf}
              onOpen={open}
            />
          )}
          {list !== undefined && !empty && (
            <ListProgress
              list={list}
              count={count}
              filtered={isFiltered(filter)}
              reloading={reloading}
              searching={filter.name !== "" || filter.token !== ""}
              onContinue={() => {
                reload(list.nextCursor);
                moveTo(topOfTable);
              }}
              onReload={() => reload()}
            />
          )}
        </div>
      </div>
      {selectedId !== undefined && <PlantDetail key={selectedId} id={selectedId} onClose={closeDetail} />}
    </div>
  );
}

/** The id in the path of a plant, as it is written there; undefined in any other path. */
export function plantIdOf(path: string): string | undefined {
  try {
    return decodeURIComponent(/^\/plants\/([^/]+)$/.exec(path)?.[1] ?? "") || undefined;
  } catch {
    return undefined;
  }
}

function waitingText({ plants, more }: Waiting): string {
  if (!more) return formatPlural(plants.length, "new plant");
  return plants.length === 0 ? "New plants" : `${formatCount(plants.length)}+ new plants`;
}
