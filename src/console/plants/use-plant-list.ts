import { useCallback, useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { Plant } from "../api-shapes.ts";
import { useSession } from "../session.ts";
import { apiFilter, filterQuery, isFiltered, matchesFilter, type PlantFilter } from "./plant-filter.ts";
import { PlantList } from "./plant-list.ts";

// While many plants arrive, the list is reloaded at most this often.
const reloadMs = 1500;

export interface LiveList {
  /** Undefined until the first response. */
  readonly list: PlantList | undefined;
  /** A new list is being loaded; until then the current one is shown. */
  readonly reloading: boolean;
  /** The number of new plants that are not in the list yet, because the user has scrolled down. */
  readonly waiting: number;
  /** Adds the waiting plants to the list. */
  showWaiting(): void;
  /** Loads the list again, from the top or from a cursor. */
  reload(from?: string): void;
}

interface TableTop {
  /** Whether the table is scrolled to its top. */
  isAtTop(): boolean;
  /** Called after rows were added on top. */
  onPrepend(rows: number): void;
}

/** The list for a filter. New plants are added on top while the table is scrolled there. */
export function usePlantList(filter: PlantFilter, top: TableTop): LiveList {
  const { api, feed } = useSession();
  const [, redraw] = useReducer((version: number, _: undefined) => version + 1, 0);
  const [list, setList] = useState<PlantList>();
  const [reloading, setReloading] = useState(true);
  const [waiting, setWaiting] = useState(0);
  const pending = useRef<readonly Plant[]>([]);
  const mustReload = useRef(false);
  const reloadedMs = useRef(0);
  const latest = useRef<PlantList>(undefined);
  const filterKey = filterQuery(filter).toString();

  const reload = useCallback(
    (from?: string) => {
      const query = { ...apiFilter(filter, Date.now()), order: filter.order };
      const onChange = (): void => {
        // The previous list stays until the first response, to avoid a flicker.
        if (started.state !== "loading" || started.searched > 0) {
          setList(started);
          setReloading(false);
        }
        redraw(undefined);
      };
      const started = new PlantList(api, query, onChange, from);
      latest.current?.close();
      latest.current = started;
      pending.current = [];
      mustReload.current = false;
      reloadedMs.current = performance.now();
      setWaiting(0);
      setReloading(true);
      void started.loadMore();
    },
    [api, filterKey],
  );
  // Without waiting for a frame.
  useLayoutEffect(() => reload(), [reload]);
  useEffect(() => () => latest.current?.close(), []);

  // In either order: the error of a past outage must not stay.
  useEffect(
    () => feed.subscribe({ onReconnect: () => latest.current?.state === "failed" && reload() }),
    [feed, reload],
  );

  const showWaiting = useCallback(() => {
    if (mustReload.current || latest.current?.prepend(pending.current) === undefined) return reload();
    pending.current = [];
    setWaiting(0);
  }, [reload]);

  useEffect(() => {
    if (filter.order !== "newest") return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    // A search scans the store, so it is not repeated unless the user asks for it.
    const searching = filter.name !== "" || filter.token !== "";
    const isAtTop = (): boolean => top.isAtTop() && latest.current?.isTop !== false;
    let missed = 0;
    const reloadSoon = (plants: number): void => {
      mustReload.current = true;
      missed += plants;
      timer ??= setTimeout(
        () => {
          const unseen = missed;
          timer = undefined;
          missed = 0;
          if (isAtTop()) reload();
          else if (mustReload.current) setWaiting((previous) => previous + unseen);
        },
        Math.max(0, reloadedMs.current + reloadMs - performance.now()),
      );
    };
    const unsubscribe = feed.subscribe({
      onPlants({ plants, more }) {
        const matching = plants.filter((plant) => matchesFilter(plant, filter));
        // The omitted plants may match too, so the list must be reloaded.
        if (more > 0) mustReload.current = true;
        else if (matching.length === 0) return;
        const added =
          isAtTop() && !mustReload.current
            ? latest.current?.prepend([...pending.current, ...matching])
            : undefined;
        if (added !== undefined) {
          pending.current = [];
          setWaiting(0);
          top.onPrepend(added);
          redraw(undefined);
          return;
        }
        const unseen = matching.length + (isFiltered(filter) ? 0 : more);
        if (isAtTop() && !searching) return reloadSoon(unseen);
        pending.current = mustReload.current ? [] : [...pending.current, ...matching];
        setWaiting((previous) => previous + unseen);
      },
      onReconnect() {
        mustReload.current = true;
        const state = latest.current?.state;
        if (isAtTop() && !(searching && (state === "loading" || state === "stopped"))) reload();
      },
    });
    return () => {
      unsubscribe();
      clearTimeout(timer);
    };
  }, [feed, filterKey, reload]);

  return { list, reloading, waiting, showWaiting, reload };
}
