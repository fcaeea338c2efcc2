import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from "@tanstack/virtual-core";
import { useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";

interface VirtualRows {
  readonly items: readonly VirtualItem[];
  /** What is seen; the pinned row is not counted, wherever it is. */
  readonly first: number;
  readonly last: number;
  readonly totalPx: number;
  scrollTo(index: number): void;
}

// Rows drawn above and below what is seen, so that a quick scroll meets no blank.
const overscanRows = 12;

/** Which rows to draw, for rows of one height in a scrolling element. `pinned` is drawn wherever it is. */
export function useVirtualRows(
  element: () => HTMLElement | null,
  count: number,
  rowPx: number,
  pinned: number,
): VirtualRows {
  const [, draw] = useReducer((turn: number, _: undefined) => turn + 1, 0);
  const options = {
    count,
    getScrollElement: element,
    estimateSize: () => rowPx,
    overscan: overscanRows,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => draw(undefined),
    // A row that has the focus must not vanish from under it.
    rangeExtractor: (range: { startIndex: number; endIndex: number; overscan: number; count: number }) => {
      const first = Math.max(range.startIndex - range.overscan, 0);
      const last = Math.min(range.endIndex + range.overscan, range.count - 1);
      const rows = Array.from({ length: last - first + 1 }, (_, row) => first + row);
      if (pinned >= 0 && pinned < first && pinned < range.count) rows.unshift(pinned);
      if (pinned > last && pinned < range.count) rows.push(pinned);
      return rows;
    },
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  useLayoutEffect(() => virtualizer.measure(), [rowPx]);
  return {
    items: virtualizer.getVirtualItems(),
    first: virtualizer.range?.startIndex ?? 0,
    last: virtualizer.range?.endIndex ?? 0,
    totalPx: virtualizer.getTotalSize(),
    scrollTo: (index) => virtualizer.scrollToIndex(index),
  };
}
