import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { describeError, isRefusal } from "../api.ts";
import { pollMs } from "../connection.ts";
import { useConsole, useObserved, useRouter } from "../console.ts";
import { NothingListed } from "../parts/content-states.tsx";
import { Button, download, Select } from "../parts/controls.tsx";
import { FormDialog } from "../parts/dialog.tsx";
import { apiFilter, type Filter } from "../parts/filter.ts";
import { FilterField, FilterForm, SearchField, TimeFields, useFilter } from "../parts/filter-form.tsx";
import { FirstPlant } from "../parts/first-plant.tsx";
import { usePageKeys } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { Link } from "../parts/link.tsx";
import { focusHeading, nameTab, PageHead } from "../parts/page-head.tsx";
import { AddPlantButton } from "./add-plant.tsx";
import { PlantDetail } from "./plant-detail.tsx";
import { PlantList } from "./plant-list.ts";
import { PlantTable, type PlantTableProps } from "./plant-table.tsx";

const title = "Plants";
const orders = [
  ["", "Newest first"],
  ["oldest", "Oldest first"],
] as const;
const formats = [
  ["ndjson", "NDJSON: one JSON object per line, exact"],
  // Most people open an exported CSV in a spreadsheet, which would run a plant's name as a formula.
  ["csv-safe", "CSV: for spreadsheets, runs no formula"],
] as const;
// Looking for new plants takes at most one part in so many of the time.
const waitFactor = 20;

/** The list of plants with its filter, and beside it the details of one plant. */
export function PlantsPage() {
  const { session } = useConsole();
  const router = useRouter();
  const { filter, search, change } = useFilter();
  const list = usePlantList(filter);
  const { plants } = list;
  const selectedId = plantIdOf(router.path);
  const searchedId = idIn(filter["name"]);
  useSelectedRow(selectedId);

  // Escape closes the details of a plant, and the arrow keys open those of the plants above and below it.
  const close = (): void => router.navigate(`/plants${search}`);
  usePageKeys((event) => {
    if (selectedId === undefined) return;
    if (event.key === "Escape") close();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    // A text that scrolls in its box keeps its arrow keys.
    if (step === undefined || document.activeElement?.matches(".clamped")) return;
    const next = plants[plants.findIndex(({ id }) => id === selectedId) + step];
    if (next === undefined) return;
    event.preventDefault();
    router.navigate(`/plants/${next.id}${search}`, { replace: true });
  });

  return (
    <div class={selectedId === undefined ? "plants" : "plants with-detail"}>
      <PageHead title={title} focusedAfter={search}>
        <ExportButton filter={filter} />
        {session.mayImport && (
          <Link class="button" href="/import">
            Import
          </Link>
        )}
        <AddPlantButton />
      </PageHead>
      <FilterForm
        search={
          <SearchField
            label="Search by name or id"
            onEnter={(searched) => {
              const id = idIn(searched);
              if (id !== undefined) router.navigate(`/plants/${id}${location.search}`);
            }}
          />
        }
      >
        <FilterField label="Tag" name="tag" />
        <FilterField label="Sender" name="token" />
        <TimeFields />
        <Select
          label="Order"
          options={orders}
          value={filter["order"] ?? ""}
          onChange={(order) => change({ order })}
        />
      </FilterForm>
      <div class="list">
        {/* It has no height, so that nothing moves when the button appears. */}
        <div class="pill-slot" role="status">
          {list.hasNew && (
            <Button
              class="pill"
              onClick={() => {
                // The button disappears.
                focusHeading();
                void list.show(apiFilter(filter));
              }}
            >
              <Icon name="up" /> New plants
            </Button>
          )}
        </div>
        {searchedId !== undefined && (
          <Link class="card line id-link" href={`/plants/${searchedId}${search}`}>
            Open the plant with the id {searchedId}
          </Link>
        )}
        <Listed list={list} selectedId={selectedId} />
      </div>
      {selectedId !== undefined && <PlantDetail key={selectedId} id={selectedId} onClose={close} />}
    </div>
  );
}

/** Exports the plants that match the filter, the oldest first. The browser streams the file to disk. */
function ExportButton({ filter: { order: _, ...filter } }: { readonly filter: Filter }) {
  const { api } = useConsole();
  const [isOpen, setIsOpen] = useState(false);
  const close = (): void => setIsOpen(false);
  const start = async (entered: FormData): Promise<void> => {
    const format = String(entered.get("format"));
    const { url } = await api.post("/api/exports", { format, ...apiFilter(filter) });
    download(url);
    close();
  };
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>Export</Button>
      {isOpen && (
        <FormDialog title="Export" submit="Export" onSubmit={start} onClose={close}>
          <p>{isFiltered ? "The plants that match the filter." : "All plants."}</p>
          <Select label="Format" name="format" options={formats} value="ndjson" />
        </FormDialog>
      )}
    </>
  );
}

/** The table, or why there is none. */
function Listed({ list, selectedId }: Pick<PlantTableProps, "list" | "selectedId">) {
  const { filter, search, clear } = useFilter();
  const { plants, state, error } = list;
  if (state === "failed" && isRefusal(error, "wrong-parameter"))
    return (
      <NothingListed title="This filter cannot be read" onClear={clear}>
        {describeError(error)}
      </NothingListed>
    );
  if (state !== "ended" || plants.length > 0)
    return <PlantTable list={list} selectedId={selectedId} search={search} />;
  if (search === "") return <FirstPlant />;
  return (
    <NothingListed title={idIn(filter["name"]) ? "No names match" : "No plants match"} onClear={clear}>
      The search finds any part of a name, ignoring case. Tag and sender must match exactly.
    </NothingListed>
  );
}

/** The id in the path of a plant; undefined in any other path. */
export function plantIdOf(path: string): string | undefined {
  return /^\/plants\/(-?\d+)$/.exec(path)?.[1];
}

/** The id that is searched for; undefined if the text is none. */
function idIn(text = ""): string | undefined {
  return /^\s*(-?\d{1,19})\s*$/.exec(text)?.[1];
}

/** The list for a filter. It looks for new plants once a second, or less often if that is slow. */
function usePlantList(filter: Filter): PlantList {
  const { api, connection } = useConsole();
  const list = useMemo(() => new PlantList(api), [api]);
  useObserved(list);
  // A layout effect does not wait for a frame, so the request starts earlier.
  useLayoutEffect(() => void list.show(apiFilter(filter)), [list, JSON.stringify(filter)]);
  useEffect(() => {
    const poll = connection.poll(async (signal) => {
      const startMs = performance.now();
      // The frame says that there is no connection.
      await list.refresh(signal).catch(() => {});
      return Math.max(pollMs, waitFactor * (performance.now() - startMs));
    });
    return () => {
      poll.stop();
      list.stop();
    };
  }, [connection, list]);
  return list;
}

/** The row of the plant whose details are open stays in view. Its link gets the focus once they are closed, even by Back. */
function useSelectedRow(selectedId: string | undefined): void {
  useLayoutEffect(() => {
    if (selectedId === undefined) return nameTab(title);
    const link = () => document.getElementById(`plant-${selectedId}`)?.querySelector("a");
    link()?.scrollIntoView({ block: "nearest" });
    return () => {
      const opener = link();
      if (opener) opener.focus();
      else focusHeading();
    };
  }, [selectedId]);
}
