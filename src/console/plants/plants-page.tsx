import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { errorMessage, isRefusal } from "../api.ts";
import { ErrorNotice, NothingListed } from "../parts/content-states.tsx";
import { FirstPlant } from "../parts/first-plant.tsx";
import { usePageKeys } from "../parts/hooks.ts";
import { nameTab, PageHead } from "../parts/page-head.tsx";
import { withQuery } from "../query.ts";
import { useRouter } from "../router.tsx";
import { AddPlantButton } from "./add-plant.tsx";
import { ExportMenu } from "./export-menu.tsx";
import { Filters } from "./filters.tsx";
import { IdMatch, type IdSearch, useIdSearch } from "./id-match.tsx";
import { ListCard } from "./list-card.tsx";
import { filterQuery, isFiltered, type ListFilter, readFilter } from "./list-filter.ts";
import { PlantDetail } from "./plant-detail.tsx";
import { PlantLinksContext } from "./plant-links.tsx";
import type { PlantList } from "./plant-list.ts";
import { focusRow } from "./plant-table.tsx";
import { usePlantList } from "./use-plant-list.ts";

const tablePath = "/plants";
const title = "Plants";

export function PlantsPage() {
  const { path, query, navigate } = useRouter();
  const filter = readFilter(query);
  const filtered = isFiltered(filter);
  const selectedId = plantIdOf(path);
  const scroller = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const { list, reloading, error, showWaiting, reload } = usePlantList(filter, scroller);

  const search = withQuery("", filterQuery(filter));
  const hrefOf = (id: string): string => `${tablePath}/${id}${search}`;
  const links = useMemo(() => {
    const hrefWith = (part: Partial<ListFilter>): string =>
      withQuery(tablePath, filterQuery({ ...filter, ...part }));
    return { selectedId, hrefOf, hrefWith };
    // The search is the filter, as the address bar has it.
  }, [selectedId, search]);
  const clear = (): void => navigate(path);

  const idSearch = useIdSearch(filter, (id) => navigate(hrefOf(id)));
  const change = (part: Partial<ListFilter>, replace = false): void => {
    // What is typed is applied after a moment, when another part of the filter may have changed.
    const current = readFilter(new URLSearchParams(location.search));
    idSearch.forgetEnter();
    navigate(withQuery(path, filterQuery({ ...current, ...part })), { replace });
  };
  useArrowKeys(list, selectedId, (id) => navigate(hrefOf(id), { replace: true }));
  const focusLinkOf = (id: string): void => {
    if (id === idSearch.id) idSearch.link.current?.focus();
    else focusRow(scroller.current, list?.rows.findIndex((plant) => plant.id === id) ?? -1);
  };
  useFocusAfterClosing(selectedId, search, heading, focusLinkOf);

  const isEmpty = list?.rows.length === 0 && list.state !== "loading" && list.state !== "failed";
  const isRefused = isRefusal(list?.error, "wrong-parameter");
  return (
    <PlantLinksContext.Provider value={links}>
      <div class={selectedId === undefined ? "plants" : "plants with-detail"}>
        <PageHead title={title} headingRef={heading}>
          <ExportMenu filter={filter} />
          <AddPlantButton />
        </PageHead>
        <ErrorNotice error={error} />
        <Filters filter={filter} onChange={change} onClear={clear} onEnter={idSearch.onEnter}>
          {idSearch.id !== undefined && (
            <IdMatch
              key={search}
              id={idSearch.id}
              linkRef={idSearch.link}
              filter={filter}
              onLookup={idSearch.onLookup}
            />
          )}
        </Filters>
        {isEmpty && !filtered && !reloading && <FirstPlant />}
        {isEmpty && filtered && <NoMatches idSearch={idSearch} onClear={clear} />}
        {isRefused && (
          <NothingListed title="This filter cannot be read" onClear={clear}>
            {errorMessage(list?.error)}
          </NothingListed>
        )}
        {!isEmpty && !isRefused && (
          <ListCard
            list={list}
            reloading={reloading}
            filter={filter}
            scroller={scroller}
            onShowWaiting={showWaiting}
            onReload={reload}
            onOrder={() => change({ order: filter.order === "newest" ? "oldest" : "newest" })}
          />
        )}
        {selectedId !== undefined && (
          <PlantDetail key={selectedId} id={selectedId} onClose={() => navigate(tablePath + search)} />
        )}
      </div>
    </PlantLinksContext.Provider>
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

/** While the details of a plant are open, the arrow keys open those of the plants above and below it. */
function useArrowKeys(
  list: PlantList | undefined,
  selectedId: string | undefined,
  onOpen: (id: string) => void,
): void {
  usePageKeys((event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    // A text that scrolls in its box keeps its arrow keys.
    const isScrolled = event.target instanceof Element && event.target.matches(".clamped");
    if (step === undefined || isScrolled || list === undefined || selectedId === undefined) return;
    // After the plant with the searched id, which may not be in the table, comes the first row.
    const next = list.rows.findIndex(({ id }) => id === selectedId) + step;
    const plant = list.rows[next];
    if (plant === undefined) return;
    event.preventDefault();
    list.activate(next);
    onOpen(plant.id);
  });
}

/**
 * Once the details are closed, by Escape or by Back, the link that opens them gets the focus. Another list may not have it, nor
 * what led to that list: then the heading gets it.
 */
function useFocusAfterClosing(
  selectedId: string | undefined,
  search: string,
  heading: RefObject<HTMLHeadingElement | null>,
  focusLinkOf: (id: string) => void,
): void {
  const before = useRef({ selectedId, search });
  useLayoutEffect(() => {
    const closedId = selectedId === undefined ? before.current.selectedId : undefined;
    const isSameList = search === before.current.search;
    before.current = { selectedId, search };
    if (closedId !== undefined) nameTab(title);
    if (closedId !== undefined && isSameList) return focusLinkOf(closedId);
    const isFocusLost = document.activeElement?.matches("body, .rows *, .empty *");
    if (!isSameList && (closedId !== undefined || isFocusLost)) heading.current?.focus();
  }, [selectedId, search]);
}

interface NoMatchesProps {
  readonly idSearch: IdSearch;
  readonly onClear: () => void;
}

/** Stands in place of the table if no name matches; a plant with the searched id may still be shown above. */
function NoMatches({ idSearch, onClear }: NoMatchesProps) {
  if (idSearch.isFound) return <p class="note no-names">No name contains {idSearch.id}.</p>;
  if (!idSearch.isKnown) return null;
  return (
    <NothingListed title="No plants match" onClear={onClear}>
      The search finds an id, or any part of a name, ignoring case. Tag, id and token must match exactly.
    </NothingListed>
  );
}
