import type { ListPosition } from "./plant-list.ts";

/**
 * The position in the current entry of the browser's history, if Back or Forward led to it. A page that was opened or reloaded
 * starts at the top, although a reload keeps the entry.
 */
export function savedPosition(navigations: number): ListPosition | undefined {
  const [load] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  if (navigations === 0 && load?.type !== "back_forward") return undefined;
  return (history.state as { readonly position?: ListPosition } | null)?.position;
}

export function savePosition(position: ListPosition): void {
  history.replaceState({ position }, "");
}
