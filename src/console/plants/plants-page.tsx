import { useLayoutEffect, useRef } from "preact/hooks";
import { describeError, isRefusal } from "../api.ts";
import { ErrorNotice, NothingListed } from "../parts/content-states.tsx";
import { FirstPlant } from "../parts/first-plant.tsx";
import { nameTab, PageHead } from "../parts/page-head.tsx";
import { AddPlantButton } from "./add-plant.tsx";
import { useArrowKeys, useFocusAfterClosing } from "./detail-keyboard.ts";
import { ExportMenu } from "./export-menu.tsx";
import { Filters } from "./filters.tsx";
import { IdMatch, type IdSearch, useIdSearch } from "./id-match.tsx";
import { ListCard } from "./list-card.tsx";
import { isFiltered, type ListFilter } from "./list-filter.ts";
import { PlantDetail } from "./plant-detail.tsx";
import { PlantLinksContext } from "./plant-links.tsx";
import { focusRow } from "./plant-table.tsx";
import { usePlantsAddress } from "./plants-address.ts";
import { usePlantList } from "./use-plant-list.ts";

const title = "Plants";

/** The list of plants with its search and filters, and beside it the details of one plant. */
export function PlantsPage() {
  const address = usePlantsAddress();
  const { filter, search, selectedId } = address;
  const scroller = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const { list, isReloading, error, showWaiting, reload } = usePlantList(filter, scroller);

  // The search for an id finds its plant beside the list.
  const idSearch = useIdSearch(filter, address.openPlant);
  const changeFilter = (part: Partial<ListFilter>, replace?: boolean): void => {
    idSearch.forgetEnter();
    address.changeFilter(part, replace);
  };

  // While the details are open, they name the tab, and have the focus.
  useLayoutEffect(() => {
    if (selectedId === undefined) nameTab(title);
  }, [selectedId]);
  useArrowKeys(list, selectedId, (id) => address.openPlant(id, { replace: true }));
  const focusLinkOf = (id: string): void => {
    if (id === idSearch.id) idSearch.link.current?.focus();
    else focusRow(scroller.current, list?.rows.findIndex((plant) => plant.id === id) ?? -1);
  };
  useFocusAfterClosing(selectedId, search, heading, focusLinkOf);

  const hasFilter = isFiltered(filter);
  const isEmpty = list?.rows.length === 0 && list.state !== "loading" && list.state !== "failed";
  const isRefused = isRefusal(list?.error, "wrong-parameter");
  return (
    <PlantLinksContext.Provider value={address.links}>
      <div class={selectedId === undefined ? "plants" : "plants with-detail"}>
        <PageHead title={title} headingRef={heading}>
          <ExportMenu filter={filter} />
          <AddPlantButton />
        </PageHead>
        <ErrorNotice error={error} />
        <Filters
          filter={filter}
          onChange={changeFilter}
          onClear={address.clearFilter}
          onEnter={idSearch.onEnter}
        >
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
        {isEmpty && !hasFilter && !isReloading && <FirstPlant />}
        {isEmpty && hasFilter && <NoMatches idSearch={idSearch} onClear={address.clearFilter} />}
        {isRefused && (
          <NothingListed title="This filter cannot be read" onClear={address.clearFilter}>
            {describeError(list?.error)}
          </NothingListed>
        )}
        {!isEmpty && !isRefused && (
          <ListCard
            list={list}
            isReloading={isReloading}
            filter={filter}
            scroller={scroller}
            onShowWaiting={showWaiting}
            onReload={reload}
            onOrder={() => changeFilter({ order: filter.order === "newest" ? "oldest" : "newest" })}
          />
        )}
        {selectedId !== undefined && (
          <PlantDetail key={selectedId} id={selectedId} onClose={address.closePlant} />
        )}
      </div>
    </PlantLinksContext.Provider>
  );
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
