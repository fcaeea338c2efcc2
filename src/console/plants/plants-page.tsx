import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { DownloadLinkJson } from "../../operator/responses.ts";
import { errorMessage, isRefusal } from "../api.ts";
import { formatCount, formatPlural } from "../format.ts";
import { EmptyState, ErrorNotice, Skeleton } from "../parts/content-states.tsx";
import { Button, download, FieldError } from "../parts/controls.tsx";
import { AddPlantButton, FirstPlant } from "../parts/create-plant.tsx";
import { useAttempt, usePageKeys } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { nameTab, PageHead } from "../parts/page-head.tsx";
import { Popover } from "../parts/popover.tsx";
import { useRouter, withQuery } from "../router.tsx";
import { useSession } from "../session.ts";
import { Filters } from "./filters.tsx";
import { type IdLookup, IdMatch, searchedId } from "./id-match.tsx";
import { PlantDetail } from "./plant-detail.tsx";
import { apiFilter, filterQuery, isFiltered, type PlantFilter, readFilter } from "./plant-filter.ts";
import type { PlantList } from "./plant-list.ts";
import { PlantTable } from "./plant-table.tsx";
import { usePlantList } from "./use-plant-list.ts";

const tablePath = "/plants";
const title = "Plants";

export function PlantsPage() {
  const { path, query, navigate } = useRouter();
  const filter = readFilter(query);
  const selectedId = plantIdOf(path);
  const scroller = useRef<HTMLDivElement>(null);
  const { list, reloading, error, showWaiting, reload } = usePlantList(filter, scroller);
  const idInSearch = searchedId(filter);
  const [lookup, setLookup] = useState<IdLookup>();
  /** The id that Enter was pressed for before it was known whether a plant has it. */
  const idToOpen = useRef<string>(undefined);

  // What is typed is applied after a moment, when another part of the filter may have changed.
  const change = (part: Partial<PlantFilter>, replace = false): void => {
    const current = readFilter(new URLSearchParams(location.search));
    idToOpen.current = undefined;
    navigate(withQuery(path, filterQuery({ ...current, ...part })), { replace });
  };
  const clear = (): void => navigate(path);
  const search = withQuery("", filterQuery(filter));
  const hrefWith = (part: Partial<PlantFilter>): string =>
    withQuery(tablePath, filterQuery({ ...filter, ...part }));
  const hrefOf = (id: string): string => `${tablePath}/${id}${search}`;
  const onEnter = (searched: string): void => {
    const id = searchedId({ name: searched });
    if (lookup === undefined || lookup.id !== id) idToOpen.current = id;
    else if (lookup.isFound) navigate(hrefOf(lookup.id));
  };
  const onLookup = (found: IdLookup): void => {
    setLookup(found);
    if (found.isFound && found.id === idToOpen.current) navigate(hrefOf(found.id));
    idToOpen.current = undefined;
  };
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
    list.active = next;
    navigate(hrefOf(plant.id), { replace: true });
  });
  // Once the details are closed, by Escape or by Back, the link that opens them gets the focus. Another list may not have it, nor
  // what led to that list.
  const before = useRef({ selectedId, search });
  useLayoutEffect(() => {
    const closedId = selectedId === undefined ? before.current.selectedId : undefined;
    const isSameList = search === before.current.search;
    before.current = { selectedId, search };
    const isFocusLost = !isSameList && document.activeElement?.matches("body, .rows *, .empty *");
    if (closedId === undefined && !isFocusLost) return;
    if (closedId !== undefined) nameTab(title);
    const row = list?.rows.findIndex(({ id }) => id === closedId) ?? -1;
    const link = closedId === idInSearch ? ".id-match a" : `.row[aria-rowindex="${row + 2}"] a`;
    document.querySelector<HTMLElement>(isSameList ? link : "h1")?.focus();
  }, [selectedId, search]);

  const filtered = isFiltered(filter);
  const isLookedUp = idInSearch === undefined || idInSearch === lookup?.id;
  const isIdFound = idInSearch !== undefined && isLookedUp && lookup?.isFound;
  const empty = list?.rows.length === 0 && list.state !== "loading" && list.state !== "failed";
  const isRefused = isRefusal(list?.error, "wrong-parameter");
  return (
    <div class={selectedId === undefined ? "plants" : "plants with-detail"}>
      <PageHead title={title}>
        <Export filter={filter} />
        <AddPlantButton />
      </PageHead>
      <ErrorNotice error={error} />
      <Filters filter={filter} onChange={change} onClear={clear} onEnter={onEnter}>
        {idInSearch !== undefined && (
          <IdMatch
            key={idInSearch}
            id={idInSearch}
            filter={filter}
            href={hrefOf(idInSearch)}
            selected={idInSearch === selectedId}
            onLookup={onLookup}
          />
        )}
      </Filters>
      {empty && !filtered && !reloading && <FirstPlant />}
      {empty && isIdFound && <p class="note no-names">No name contains {idInSearch}.</p>}
      {empty && filtered && isLookedUp && !isIdFound && (
        <NothingListed title="No plants match" onClear={clear}>
          The search finds an id, or any part of a name, ignoring case. Tag, id and token must match exactly.
        </NothingListed>
      )}
      {isRefused && (
        <NothingListed title="This filter cannot be read" onClear={clear}>
          {errorMessage(list?.error)}
        </NothingListed>
      )}
      {!empty && !isRefused && (
        <div class="table-slot">
          <div class="table-card card">
            {list !== undefined && (list.waiting.length > 0 || list.isOutdated) && (
              <Button
                class="pill"
                onClick={() => {
                  showWaiting();
                  list.active = 0;
                  scroller.current?.scrollTo(0, 0);
                }}
              >
                <Icon name="up" /> {waitingText(list)}
              </Button>
            )}
            {list === undefined ? (
              <Skeleton lines={6} />
            ) : (
              <>
                <PlantTable
                  list={list}
                  busy={reloading || list.state === "loading"}
                  selectedId={selectedId}
                  order={filter.order}
                  scroller={scroller}
                  onOrder={() => change({ order: filter.order === "newest" ? "oldest" : "newest" })}
                  hrefOf={hrefOf}
                  hrefWith={hrefWith}
                />
                <ListProgress list={list} filtered={filtered} reloading={reloading} onReload={reload} />
              </>
            )}
          </div>
        </div>
      )}
      {selectedId !== undefined && (
        <PlantDetail
          key={selectedId}
          id={selectedId}
          hrefWith={hrefWith}
          onClose={() => navigate(tablePath + search)}
        />
      )}
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

function waitingText({ waiting, isOutdated }: PlantList): string {
  if (!isOutdated) return formatPlural(waiting.length, "new plant");
  return waiting.length === 0 ? "New plants" : `${formatCount(waiting.length)}+ new plants`;
}

interface ListProgressProps {
  readonly list: PlantList;
  /** Whether it lists only what matches a filter. */
  readonly filtered: boolean;
  readonly reloading: boolean;
  readonly onReload: () => void;
}

/** How many plants there are, or what is going on, below the table. */
function ListProgress(props: ListProgressProps) {
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

function statusText({ list, filtered, reloading }: ListProgressProps): string {
  const { state, rows, count, isOutdated } = list;
  if (reloading) return "Loading…";
  if (state === "failed") return errorMessage(list.error);
  if (state === "full") return `${formatPlural(rows.length, "plant")} loaded, the maximum for one table.`;
  if (count === undefined && state === "loading")
    return `Searched ${formatPlural(list.searched, "plant")}, found ${formatCount(rows.length)}…`;
  const known = count ?? rows.length;
  const atLeast = count === undefined || isOutdated ? "Over " : "";
  const text = atLeast + formatPlural(known, "plant");
  if (!filtered) return text;
  return known === 1 ? `${text} matches` : `${text} match`;
}

interface NothingListedProps {
  readonly title: string;
  readonly onClear: () => void;
  readonly children: ComponentChildren;
}

/** Stands in place of the table. */
function NothingListed({ title, onClear, children }: NothingListedProps) {
  return (
    <EmptyState title={title}>
      <p>{children}</p>
      <div class="line">
        <Button onClick={onClear}>Clear filters</Button>
      </div>
    </EmptyState>
  );
}

const formats = [
  { format: "ndjson", name: "NDJSON", note: "One JSON object per line, exact." },
  // Most people open an exported CSV in a spreadsheet, which would run a plant's name as a formula.
  { format: "csv-safe", name: "CSV", note: "For spreadsheets; runs no formula." },
] as const;

/** Exports the plants that match the filter. The browser streams the file to disk. */
function Export({ filter }: { readonly filter: PlantFilter }) {
  const { api } = useSession();
  const { error, attempt } = useAttempt();
  const start = (format: string) =>
    attempt(async () => {
      const request = { format, ...apiFilter(filter) };
      const { url } = await api.post<DownloadLinkJson>("/api/exports", request);
      download(url);
    });
  const scope = isFiltered(filter) ? "Plants that match" : "All plants";
  return (
    <>
      <FieldError error={error} />
      <Popover
        buttonClass="quiet"
        panelClass="menu"
        label={
          <>
            <Icon name="export" /> Export
          </>
        }
      >
        {(close) => (
          <>
            <p class="note">{scope}</p>
            {formats.map(({ format, name, note }) => (
              <Button
                key={format}
                class="item"
                onClick={() => {
                  close();
                  void start(format);
                }}
              >
                <span class="visually-hidden">{scope} as </span>
                {name} <span class="note">{note}</span>
              </Button>
            ))}
          </>
        )}
      </Popover>
    </>
  );
}
