// biome-ignore-all lint/a11y/useSemanticElements: virtual rows cannot be a table element, so they have roles
// biome-ignore-all lint/a11y/useFocusableInteractive: column headers need no focus
// biome-ignore-all lint/a11y/noStaticElementInteractions: the keys are handled for the links inside
import type { Ref } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { PlantList } from "./plant-list.ts";
import { PlantRow } from "./plant-row.tsx";
import type { TableSize } from "./use-table-size.ts";
import { useVirtualRows } from "./use-virtual-rows.ts";

interface PlantTableProps {
  readonly list: PlantList;
  readonly size: TableSize;
  readonly busy: boolean;
  readonly selectedId: string | undefined;
  readonly order: "newest" | "oldest";
  readonly scroller: { current: HTMLDivElement | null };
  readonly onScroll: (px: number) => void;
  /** The index of the row that the arrow keys start from. */
  readonly active: number;
  readonly onActive: (index: number) => void;
  readonly onOrder: () => void;
  readonly hrefOf: (id: string) => string;
  readonly onOpen: (id: string) => void;
}

// Rows this close to the visible ones are loaded.
const prefetchRows = 120;

/** A virtual table: only the rows near the visible ones exist. */
export function PlantTable(props: PlantTableProps) {
  const { list, size, busy, selectedId, order, scroller, onScroll } = props;
  const { active, onActive, onOrder, hrefOf, onOpen } = props;
  const { rowPx } = size;
  const { items, first, last, totalPx, scrollTo } = useVirtualRows(
    () => scroller.current,
    list.length,
    rowPx,
    active,
  );
  const mustFocus = useRef(false);

  useEffect(() => {
    list.showRange(first - prefetchRows, last + prefetchRows);
    if (list.state === "idle" && last > list.length - prefetchRows) void list.loadMore();
  });
  // In a layout effect, so that the next key already starts from this row.
  useLayoutEffect(() => {
    if (!mustFocus.current) return;
    mustFocus.current = false;
    scroller.current?.querySelector<HTMLElement>(`[aria-rowindex="${active + 2}"] a`)?.focus();
  });

  const moveTo = (row: number): void => {
    const index = Math.max(0, Math.min(row, list.length - 1));
    mustFocus.current = true;
    onActive(index);
    scrollTo(index);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowPx) - 2);
    const targets: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + step,
      PageUp: active - step,
      Home: 0,
      End: list.length - 1,
    };
    const target = targets[event.key];
    if (target === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moveTo(target);
  };

  return (
    <div
      class={`table ${size.width}`}
      role="table"
      aria-label="Plants"
      aria-rowcount={list.state === "ended" ? list.length + 1 : -1}
      aria-busy={busy}
    >
      <div class="table-head" role="rowgroup">
        <div class="row" role="row" aria-rowindex={1}>
          <span role="columnheader">Name</span>
          <span role="columnheader">Tag</span>
          <span role="columnheader">Id</span>
          <span role="columnheader">Created by</span>
          <span role="columnheader" aria-sort={order === "newest" ? "descending" : "ascending"}>
            <button type="button" class="sort" onClick={onOrder}>
              Created <span aria-hidden="true">{order === "newest" ? "↓" : "↑"}</span>
              <span class="visually-hidden">, {order} first; reverse the order</span>
            </button>
          </span>
        </div>
      </div>
      <div
        class="table-body"
        ref={scroller as Ref<HTMLDivElement>}
        role="presentation"
        // Whole rows only, and no empty space under the last one.
        style={{ height: `${Math.min(list.length, size.rowsMax) * rowPx}px` }}
        onScroll={(event) => onScroll(event.currentTarget.scrollTop)}
        onKeyDown={onKeyDown}
      >
        <div class="rows" role="rowgroup" style={{ height: `${totalPx}px` }}>
          {items.map(({ index, start }) => (
            <PlantRow
              key={list.at(index)?.id ?? `blank ${index}`}
              plant={list.at(index)}
              index={index}
              startPx={start}
              rowPx={rowPx}
              active={index === active}
              selected={list.at(index)?.id === selectedId && selectedId !== undefined}
              hrefOf={hrefOf}
              onOpen={onOpen}
              onActive={onActive}
            />
          ))}
        </div>
      </div>
    </div>
  );
}
