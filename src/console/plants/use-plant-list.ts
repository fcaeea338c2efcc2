import type { RefObject } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isNoResponse, isRefusal } from "../api.ts";
import { pollMs } from "../connection.ts";
import { useConsole, useObserved, useRouter } from "../console.ts";
import { isBeingRead } from "../parts/hooks.ts";
import { apiFilter, filterQuery, type ListFilter } from "./list-filter.ts";
import { savedPosition } from "./list-position.ts";
import { type ListPosition, PlantList } from "./plant-list.ts";

// The table counts as not scrolled within this distance of its top.
const atTopPx = 4;

/** The element in which the table's rows scroll. */
export type Scroller = RefObject<HTMLDivElement | null>;

/** The list for a filter. New plants are added on top unless someone reads what is there. */
export function usePlantList(filter: ListFilter, scroller: Scroller) {
  const loaded = useLoadedList(filter);
  const error = useNewPlants(filter, scroller, loaded);
  const { list, latest, isReloading, reload } = loaded;
  const showWaiting = (): void => {
    if (!latest.current?.showWaiting("first row")) reload();
  };
  return { list, isReloading, error, showWaiting, reload };
}

/** Loads the list when the filter changes, and again after an outage. */
function useLoadedList(filter: ListFilter) {
  const { api, connection } = useConsole();
  const { navigations } = useRouter();
  /** Undefined until the first response; while a new list is being loaded, the current one is shown. */
  const [list, setList] = useState<PlantList>();
  useObserved(list);
  const [isReloading, setIsReloading] = useState(true);
  /** The list that was loaded last, or is being loaded. */
  const latest = useRef<PlantList>(undefined);
  // The filter is a new object with every render, and its text changes only if it does.
  const filterText = filterQuery(filter).toString();

  const load = useCallback(
    (position?: ListPosition) => {
      const query = { ...apiFilter(filter), order: filter.order };
      const started = new PlantList(api, query);
      // The previous list stays until the first response, to avoid a flicker.
      const unsubscribe = started.subscribe(() => {
        if (started.state === "loading" && started.searched === 0) return;
        unsubscribe();
        setList(started);
        setIsReloading(false);
      });
      latest.current?.stop();
      latest.current = started;
      setIsReloading(true);
      void (position === undefined ? started.loadMore() : started.loadUntil(position));
    },
    [api, filterText],
  );
  const reload = useCallback(() => load(), [load]);
  // A layout effect does not wait for a frame, so the request starts earlier.
  useLayoutEffect(() => load(savedPosition(navigations)), [load]);
  useEffect(() => () => latest.current?.stop(), []);

  // The error of a past outage must not stay.
  useEffect(
    () =>
      connection.subscribe(() => {
        if (!connection.isLost && latest.current?.state === "failed") reload();
      }),
    [connection, reload],
  );
  return { list, latest, isReloading, reload };
}

/**
 * Reads new plants once a second while the newest come first, and shows them unless someone reads the list. Returns why they
 * cannot be read, although the service responds.
 */
function useNewPlants(
  filter: ListFilter,
  scroller: Scroller,
  { latest, reload }: ReturnType<typeof useLoadedList>,
): unknown {
  const { connection } = useConsole();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    setError(undefined);
    if (filter.order !== "newest") return;
    // A search scans the store, so it is not repeated unless the user asks for it.
    const isSearching = filter.name !== "" || filter.token !== "";
    const showNew = (list: PlantList): void => {
      const isFree = (scroller.current?.scrollTop ?? 0) < atTopPx && !isBeingRead(scroller.current);
      if (!list.hasNew || !isFree) return;
      // A focused row keeps the focus; otherwise the arrow keys start at the top.
      const isFocused = scroller.current?.contains(document.activeElement);
      const movesDown = list.active > 0 || isFocused;
      const isShown = list.showWaiting(movesDown ? "same plant" : "first row");
      if (!isShown && !isSearching) reload();
    };
    const poll = connection.poll(async (signal) => {
      const followed = latest.current;
      try {
        await followed?.readNew(signal);
        setError(undefined);
        if (followed !== undefined && followed === latest.current) showNew(followed);
      } catch (reason) {
        // If the store was restored meanwhile, the list shows what it had before.
        if (isRefusal(reason, "stale-cursor")) reload();
        else if (!poll.isStopped) setError(isNoResponse(reason) ? undefined : reason);
      }
      return pollMs;
    });
    return () => poll.stop();
    // Another filter has another `reload`.
  }, [connection, reload]);
  return error;
}
