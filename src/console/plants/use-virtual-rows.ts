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
  /** The range of visible rows, without the pinned one. */
  readonly first: number;
  readonly last: number;
  readonly totalPx: number;
  scrollTo(index: number): void;
}

// Rows rendered above and below the visible ones, so that fast scrolling shows no gaps.
const overscanRows = 12;

/** The rows to render in a scrolling element, all of one height. The row `pinned` is always rendered. */
export function useVirtualRows(
  element: () => HTMLElement | null,
  count: number,
  rowPx: number,
  pinned: number,
): VirtualRows {
  const [, redraw] = useReducer((version: number, _: undefined) => version + 1, 0);
  const options = {
    count,
    getScrollElement: element,
    estimateSize: () => rowPx,
    overscan: overscanRows,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(undefined),
    // A focused row must stay in the document.
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
