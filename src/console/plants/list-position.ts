import { useLayoutEffect } from "preact/hooks";
import type { ListPosition, PlantList } from "./plant-list.ts";

// Browsers allow a page to change its history about three times per second.
const saveMs = 300;

/**
 * The position in the current entry of the browser's history, if Back or Forward led to it. A page that was opened or reloaded
 * starts at the top, although a reload keeps the entry.
 */
export function savedPosition(navigations: number): ListPosition | undefined {
  const [load] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  if (navigations === 0 && load?.type !== "back_forward") return undefined;
  return (history.state as { readonly position?: ListPosition } | null)?.position;
}

/** Saves the first visible row in the current entry of the history, so that Back returns to it. */
export function useSavedPosition(
  list: PlantList,
  firstRow: number,
  isBusy: boolean,
  selectedId: string | undefined,
): void {
  // A layout effect ends with its page, and others after the next frame, when this would have changed the entry after it.
  useLayoutEffect(() => {
    const { id } = list.rows[firstRow] ?? {};
    if (isBusy || id === undefined) return;
    const position: ListPosition = { id, row: firstRow };
    const timer = setTimeout(() => history.replaceState({ position }, ""), saveMs);
    return () => clearTimeout(timer);
    // Each plant that is opened is an entry of its own.
  }, [list, isBusy, firstRow, selectedId]);
}
