import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural } from "../format.ts";
import { Icon } from "../parts/icons.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { useRouter, withQuery } from "../router.ts";
import { EmptyPlants } from "./empty-plants.tsx";
import { ExportButtons } from "./export-buttons.tsx";
import { Filters } from "./filters.tsx";
import { ListProgress } from "./list-progress.tsx";
import { PlantDetail } from "./plant-detail.tsx";
import { filterQuery, type PlantFilter, readFilter } from "./plant-filter.ts";
import { PlantTable } from "./plant-table.tsx";
import { usePlantList } from "./use-plant-list.ts";

const tablePath = "/plants";
// Within so many pixels of its top, the table counts as not scrolled.
const topPx = 4;

export function PlantsPage() {
  const router = useRouter();
  const filter = readFilter(router.query);
  const chosenId =
    router.path === tablePath ? undefined : decodeURIComponent(router.path.slice(tablePath.length + 1));
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  // The detail was closed just now, and its row gets the focus back once it can be seen.
  const closed = useRef(false);
  const { list, renewing, waiting, show, restart } = usePlantList(filter, {
    isSeen: () => (scroller.current?.scrollTop ?? 0) < topPx,
    // A row that has the focus keeps it; otherwise the keys begin at the top.
    grew: (rows) =>
      setActive((before) =>
        before === 0 && !scroller.current?.contains(document.activeElement) ? 0 : before + rows,
      ),
  });

  const toTop = (): void => {
    setActive(0);
    if (scroller.current !== null) scroller.current.scrollTop = 0;
  };
  const change = (part: Partial<PlantFilter>, replace = false): void => {
    router.go(withQuery(router.path, filterQuery({ ...filter, ...part })), { replace });
  };
  const queryText = filterQuery(filter).toString();
  // However the filter was changed: by a field, a link or the Back button.
  useEffect(toTop, [queryText]);
  const hrefOf = useCallback(
    (id: string) => withQuery(`${tablePath}/${id}`, new URLSearchParams(queryText)),
    [queryText],
  );
  const { go } = router;
  const open = useCallback((id: string) => go(hrefOf(id)), [hrefOf]);
  const closeDetail = (): void => {
    go(withQuery(tablePath, filterQuery(filter)));
    closed.current = true;
  };
  useLayoutEffect(() => {
    if (!closed.current) return;
    closed.current = false;
    scroller.current?.querySelector<HTMLElement>('.row a[tabindex="0"]')?.focus();
  });

  const empty =
    list !== undefined && list.length === 0 && list.state !== "looking" && list.state !== "failed";
  return (
    <div class={chosenId === undefined ? "plants" : "plants with-detail"}>
      <PageHead title="Plants">
        <ExportButtons filter={filter} />
      </PageHead>
      <div class="plants-list">
        <Filters filter={filter} onChange={change} />
        <div class="table-card card">
          {waiting > 0 && (
            <button
              type="button"
              class="pill"
              onClick={() => {
                show();
                toTop();
              }}
            >
              <Icon name="up" /> {plural(waiting, "new plant")}
            </button>
          )}
          {empty ? (
            <EmptyPlants filter={filter} list={list} onClear={() => go(tablePath)} />
          ) : (
            list !== undefined && (
              <PlantTable
                list={list}
                busy={renewing || list.state === "looking"}
                chosenId={chosenId}
                order={filter.order}
                scroller={scroller}
                active={active}
                onActive={setActive}
                onOrder={() => change({ order: filter.order === "newest" ? "oldest" : "newest" })}
                hrefOf={hrefOf}
                onOpen={open}
              />
            )
          )}
          {list !== undefined && (
            <ListProgress
              list={list}
              renewing={renewing}
              searching={filter.name !== "" || filter.token !== ""}
              onGoOn={() => {
                restart(list.goOnFrom);
                toTop();
              }}
              onRestart={() => restart()}
            />
          )}
        </div>
      </div>
      {chosenId !== undefined && <PlantDetail key={chosenId} id={chosenId} onClose={closeDetail} />}
    </div>
  );
}
