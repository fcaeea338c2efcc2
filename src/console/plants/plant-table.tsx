// biome-ignore-all lint/a11y/useSemanticElements: rows that are placed one by one cannot be a real table; the roles say what they are
// biome-ignore-all lint/a11y/useFocusableInteractive: a column's heading is not for the focus, whatever its role
// biome-ignore-all lint/a11y/noStaticElementInteractions: the keys are those of the links inside
import type { Ref } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { PlantList } from "./plant-list.ts";
import { PlantRow } from "./plant-row.tsx";
import { useVirtualRows } from "./use-virtual-rows.ts";
import { useWide } from "./use-wide.ts";

interface PlantTableProps {
  readonly list: PlantList;
  readonly busy: boolean;
  readonly chosenId: string | undefined;
  readonly order: "newest" | "oldest";
  readonly scroller: { current: HTMLDivElement | null };
  /** The row that the arrow keys are on. */
  readonly active: number;
  readonly onActive: (index: number) => void;
  readonly onOrder: () => void;
  readonly hrefOf: (id: string) => string;
  readonly onOpen: (id: string) => void;
}

const wideRowPx = 46;
const narrowRowPx = 68;
// Rows are asked for when they are this near to what is seen.
const aheadRows = 120;

/** The table: only the rows near the screen exist, whatever the number of plants. */
export function PlantTable(props: PlantTableProps) {
  const { list, busy, chosenId, order, scroller, active, onActive, onOrder, hrefOf, onOpen } = props;
  const wide = useWide();
  const rowPx = wide ? wideRowPx : narrowRowPx;
  const { items, first, last, totalPx, scrollTo } = useVirtualRows(
    () => scroller.current,
    list.length,
    rowPx,
    active,
  );
  const moved = useRef(false);

  useEffect(() => {
    list.look(first - aheadRows, last + aheadRows);
    if (list.state === "resting" && last > list.length - aheadRows) void list.more();
  });
  // Before anything else can happen, or a second key would find the focus still on the row before.
  useLayoutEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    scroller.current?.querySelector<HTMLElement>(`[aria-rowindex="${active + 2}"] a`)?.focus();
  });

  const move = (to: number): void => {
    const index = Math.max(0, Math.min(to, list.length - 1));
    moved.current = true;
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
    move(target);
  };

  return (
    <div
      class="table"
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
          <span role="columnheader" aria-sort={order === "newest" ? "descending" : "ascending"}>
            <button type="button" class="sort" onClick={onOrder}>
              Created <span aria-hidden="true">{order === "newest" ? "↓" : "↑"}</span>
              <span class="unseen">, {order} first; change the order</span>
            </button>
          </span>
          <span role="columnheader">Sent by</span>
        </div>
      </div>
      <div class="table-body" ref={scroller as Ref<HTMLDivElement>} role="presentation" onKeyDown={onKeyDown}>
        <div class="rows" role="rowgroup" style={{ height: `${totalPx}px` }}>
          {items.map(({ index, start }) => (
            <PlantRow
              key={list.at(index)?.id ?? `blank ${index}`}
              plant={list.at(index)}
              index={index}
              startPx={start}
              rowPx={rowPx}
              active={index === active}
              chosen={list.at(index)?.id === chosenId && chosenId !== undefined}
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
