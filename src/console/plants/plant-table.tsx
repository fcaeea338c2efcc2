// biome-ignore-all lint/a11y/useSemanticElements: rows that are not in the document cannot be in a table element
// biome-ignore-all lint/a11y/useFocusableInteractive: column headers need no focus, and the link in a row has it
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the link in a row handles the keyboard
// biome-ignore-all lint/a11y/noStaticElementInteractions: the keys are handled for the links inside

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { StoredPlantJson } from "../../files/plant-json.ts";
import { useRouter } from "../console.ts";
import { Button } from "../parts/controls.tsx";
import { hasModifier, useWindowEvent } from "../parts/hooks.ts";
import { Link } from "../parts/link.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { ShortTime } from "../parts/time.tsx";
import { useSavedPosition } from "./list-position.ts";
import { FilterLink, TagLink, usePlantLinks } from "./plant-links.tsx";
import type { PlantList } from "./plant-list.ts";
import type { Scroller } from "./use-plant-list.ts";

interface PlantTableProps {
  readonly list: PlantList;
  readonly isBusy: boolean;
  readonly order: string;
  readonly scroller: Scroller;
  readonly onOrder: () => void;
}

// Rows rendered above and below the visible ones, so that fast scrolling shows no gaps.
const overscanRows = 12;
// Rows this close to the visible ones are loaded.
const prefetchRows = 120;

/** A virtual table: only the rows near the visible ones exist, all of one height, which the style sheet decides. */
export function PlantTable({ list, isBusy, order, scroller, onOrder }: PlantTableProps) {
  const { selectedId, plantHref } = usePlantLinks();
  const { active } = list;
  const { length } = list.rows;
  const { navigate } = useRouter();
  const rows = useVisibleRows(list, scroller);
  const onKeyDown = useActiveRow(list, selectedId, rows, scroller);
  useSavedPosition(list, rows.first, isBusy, selectedId);
  useEffect(() => {
    if (list.state === "idle" && rows.last > length - prefetchRows) void list.loadMore();
  });

  return (
    <div
      class="table"
      role="table"
      aria-label="Plants"
      aria-rowcount={list.state === "ended" ? length + 1 : -1}
      aria-busy={isBusy}
    >
      <div class="table-head" role="rowgroup">
        <div class="row" role="row" aria-rowindex={1}>
          {["Name", "Tag", "Id", "Created by"].map((column) => (
            <span key={column} role="columnheader">
              {column}
            </span>
          ))}
          <span role="columnheader" aria-sort={order === "newest" ? "descending" : "ascending"}>
            <Button class="sort" onClick={onOrder}>
              Created <span aria-hidden="true">{order === "newest" ? "↓" : "↑"}</span>
              <span class="visually-hidden">, {order} first; reverse the order</span>
            </Button>
          </span>
        </div>
      </div>
      <div
        class="table-body"
        ref={scroller}
        role="presentation"
        onScroll={rows.onScroll}
        onKeyDown={onKeyDown}
      >
        <div class="rows" role="rowgroup" style={{ height: `calc(${length} * var(--row-height))` }}>
          {rowsAround(rows.first, rows.last, active, length).map((index) => {
            const plant = list.rows[index];
            if (plant === undefined) return null;
            return (
              <PlantRow
                key={plant.id}
                plant={plant}
                index={index}
                tabIndex={index === active ? 0 : -1}
                selected={plant.id === selectedId}
                href={plantHref(plant.id)}
                onOpen={() => {
                  list.activate(index);
                  navigate(plantHref(plant.id));
                }}
                onFocus={() => list.activate(index)}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

type VisibleRows = ReturnType<typeof useVisibleRows>;

/** The first and the last row that can be seen, and how to scroll to another one. */
function useVisibleRows(list: PlantList, scroller: Scroller) {
  const { length } = list.rows;
  const [view, setView] = useState({ first: 0, last: 0 });
  const rowPx = () => (scroller.current?.firstElementChild?.clientHeight ?? 0) / length;
  const readView = (): void => {
    const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    const first = Math.floor(scrollTop / rowPx()) || 0;
    const last = Math.ceil((scrollTop + clientHeight) / rowPx()) || 0;
    setView((before) => (before.first === first && before.last === last ? before : { first, last }));
  };
  useLayoutEffect(() => {
    if (scroller.current !== null) scroller.current.scrollTop = list.startRow * rowPx();
  }, [list, list.startRow]);
  // After any change, since there may be more rows.
  useLayoutEffect(readView);
  useWindowEvent("resize", readView);

  return {
    ...view,
    onScroll: readView,
    /** How many rows Page Down moves by: one of those that can be seen stays. */
    pageLength: () => Math.max(Math.floor((scroller.current?.clientHeight ?? 0) / rowPx()) - 1, 1),
    /** Scrolls as little as it can to make the row visible. */
    scrollIntoView(row: number): void {
      const body = scroller.current;
      if (body === null) return;
      const topPx = row * rowPx();
      body.scrollTop = Math.min(topPx, Math.max(body.scrollTop, topPx + rowPx() - body.clientHeight));
    },
  };
}

/**
 * The row that has the focus, or gets it when Tab reaches the table. Returns what the keys do that move it, which are those of a
 * list.
 */
function useActiveRow(
  list: PlantList,
  selectedId: string | undefined,
  { pageLength, scrollIntoView }: VisibleRows,
  scroller: Scroller,
) {
  const { active } = list;
  const { length } = list.rows;
  const mustFocus = useRef(false);
  // This is a layout effect so that the next key already starts from this row.
  useLayoutEffect(() => {
    if (!mustFocus.current) return;
    mustFocus.current = false;
    focusRow(scroller.current, active);
  });
  // The arrow keys may have opened a plant beyond the visible rows.
  useLayoutEffect(() => {
    if (selectedId !== undefined && list.rows[active]?.id === selectedId) scrollIntoView(active);
  }, [selectedId]);

  const moveTo = (row: number): void => {
    const index = Math.max(0, Math.min(row, length - 1));
    scrollIntoView(index);
    mustFocus.current = true;
    list.activate(index);
  };
  return (event: KeyboardEvent): void => {
    // With the details open, the page moves to the next plant.
    if (selectedId !== undefined || hasModifier(event)) return;
    const targets: Readonly<Record<string, number>> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + pageLength(),
      PageUp: active - pageLength(),
      Home: 0,
      End: length - 1,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    moveTo(target);
  };
}

/** Focuses the link of a row, if the table has it. */
export function focusRow(scroller: HTMLElement | null, row: number): void {
  scroller?.querySelector<HTMLElement>(`[aria-rowindex="${ariaRowOf(row)}"] a`)?.focus();
}

/** The number of a row for screen readers, which count from one and also count the header. */
function ariaRowOf(row: number): number {
  return row + 2;
}

/**
 * The rows to render: those near the visible ones, and the active one, because a row with the focus must stay in the document.
 */
function rowsAround(first: number, last: number, active: number, count: number): readonly number[] {
  const from = Math.max(first - overscanRows, 0);
  const until = Math.min(last + overscanRows, count);
  const rows = Array.from({ length: Math.max(until - from, 0) }, (_, row) => from + row);
  return active >= from && active < until ? rows : [active, ...rows];
}

interface PlantRowProps {
  readonly plant: StoredPlantJson;
  readonly index: number;
  readonly tabIndex: number;
  readonly selected: boolean;
  readonly href: string;
  readonly onOpen: () => void;
  readonly onFocus: () => void;
}

function PlantRow(props: PlantRowProps) {
  const { plant, index, tabIndex, selected, href, onOpen, onFocus } = props;
  // A row is rendered again only if it has changed: formatting texts and times is what takes time while scrolling.
  return useMemo(
    () => (
      // The keyboard uses the link; for the mouse the row is a larger target.
      <div
        class={selected ? "row selected" : "row"}
        role="row"
        aria-rowindex={ariaRowOf(index)}
        style={{ translate: `0 calc(${index} * var(--row-height))` }}
        onClick={() => {
          if (getSelection()?.isCollapsed !== false) onOpen();
        }}
        onFocusIn={onFocus}
      >
        <span role="cell" class="cell-name">
          <Link href={href} tabIndex={tabIndex} aria-current={selected ? "true" : undefined}>
            <PlantText text={plant.name} empty="(empty name)" />
          </Link>
        </span>
        <span role="cell" class="cell-tag">
          {plant.tag !== undefined && <TagLink tag={plant.tag} tabIndex={tabIndex} />}
        </span>
        <span role="cell" class="cell-id">
          {plant.id}
        </span>
        <span role="cell" class="cell-by">
          <FilterLink part={{ token: plant.createdBy }} tabIndex={tabIndex}>
            {plant.createdBy}
          </FilterLink>
        </span>
        <span role="cell" class="cell-time">
          <ShortTime at={plant.createdAt} />
        </span>
      </div>
    ),
    [plant, index, tabIndex, selected, href],
  );
}
