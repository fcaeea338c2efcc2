import type { ListPlace } from "./plant-list.ts";

/**
 * The place in the current entry of the browser's history, if Back or Forward led to it. A page that was opened or reloaded
 * starts at the top, although a reload keeps the entry.
 */
export function savedPlace(navigations: number): ListPlace | undefined {
  const [load] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  if (navigations === 0 && load?.type !== "back_forward") return undefined;
  return (history.state as { readonly place?: ListPlace } | null)?.place;
}

export function savePlace(place: ListPlace): void {
  history.replaceState({ place }, "");
}
