import { useCallback, useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { ApiError, isNoResponse } from "../api.ts";
import { pollMs, responseMsMax } from "../connection.ts";
import { useRouter } from "../router.ts";
import { useSession } from "../session.ts";
import { apiFilter, filterQuery, type PlantFilter } from "./plant-filter.ts";
import { type LeftTable, PlantList, type TablePosition, type Waiting } from "./plant-list.ts";

// The store was restored meanwhile, so the list shows what it had before.
const staleCursor = 41001;

export interface LiveList {
  /** Undefined until the first response. */
  readonly list: PlantList | undefined;
  /** A new list is being loaded; until then the current one is shown. */
  readonly reloading: boolean;
  /** The new plants that are not in the list yet, because someone reads what is there. */
  readonly waiting: Waiting;
  /** Why new plants cannot be read, although the service responds. */
  readonly error: unknown;
  /** Adds the waiting plants to the list. */
  showWaiting(): void;
  /** Loads the list again, from the top or from a cursor. */
  reload(from?: string): void;
}

/** The table that shows the list. */
interface Table {
  /** Whether new rows may be added on top, where they move the others down. */
  isFree(): boolean;
  /** Called after rows were added on top. */
  onPrepend(rows: number): void;
  position(): TablePosition;
  moveTo(position: TablePosition): void;
}

export const topOfTable: TablePosition = { scrollPx: 0, active: 0 };
// Each may have thousands of plants in memory.
const leftTablesMax = 5;
const waitingMax = 1000;
const noneWaiting: Waiting = { plants: [], more: false };

/**
 * The list for a filter. New plants are added on top unless someone reads what is there. If Back returns to a table, it has the
 * rows that it was left with, at the same position; any other starts at the top.
 */
export function usePlantList(filter: PlantFilter, table: Table): LiveList {
  const { api, connection, leftTables } = useSession();
  const { entry } = useRouter();
  const [, redraw] = useReducer((version: number, _: undefined) => version + 1, 0);
  const [list, setList] = useState<PlantList>();
  const [reloading, setReloading] = useState(true);
  const [error, setError] = useState<unknown>();
  // The current value, which the next poll needs before the page is drawn again.
  const waiting = useRef(noneWaiting);
  const latest = useRef<PlantList>(undefined);
  const restored = useRef<LeftTable>(undefined);
  const currentTable = useRef(table);
  currentTable.current = table;
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
      waiting.current = noneWaiting;
      setReloading(true);
      void started.loadMore();
    },
    [api, filterKey],
  );
  // Without waiting for a frame.
  useLayoutEffect(() => {
    const left = leftTables.get(entry);
    restored.current = left?.filterKey === filterKey ? left : undefined;
    if (restored.current?.list === undefined) return reload();
    latest.current?.close();
    latest.current = restored.current.list;
    latest.current.reopen(() => redraw(undefined));
    waiting.current = restored.current.waiting;
    setList(latest.current);
    setReloading(false);
  }, [reload]);
  useLayoutEffect(() => {
    if (list !== undefined && list === restored.current?.list) table.moveTo(restored.current);
  }, [list]);
  // Whether a field, a link or the Back button changed the filter.
  useEffect(() => {
    if (restored.current === undefined) table.moveTo(topOfTable);
  }, [filterKey]);
  const shown = useRef(list);
  shown.current = list;
  useEffect(
    () => () => {
      const position = currentTable.current.position();
      leftTables.delete(entry);
      leftTables.set(entry, { ...position, filterKey, list: shown.current, waiting: waiting.current });
      for (const oldest of leftTables.keys()) if (leftTables.size > leftTablesMax) leftTables.delete(oldest);
    },
    [entry, filterKey],
  );
  useEffect(() => () => latest.current?.close(), []);

  // The error of a past outage must not stay.
  useEffect(
    () => connection.subscribe({ onReconnect: () => latest.current?.state === "failed" && reload() }),
    [connection, reload],
  );

  const showWaiting = useCallback(() => {
    const { plants, more } = waiting.current;
    if (more || latest.current?.prepend(plants) !== true) return reload();
    waiting.current = noneWaiting;
    redraw(undefined);
  }, [reload]);

  useEffect(() => {
    setError(undefined);
    if (filter.order !== "newest") return;
    // A search scans the store, so it is not repeated unless the user asks for it.
    const searching = filter.name !== "" || filter.token !== "";
    const addNew = (fresh: Waiting): void => {
      const all = [...waiting.current.plants, ...fresh.plants];
      const more = waiting.current.more || fresh.more || all.length > waitingMax;
      const plants = all.slice(0, waitingMax);
      waiting.current = { plants, more };
      if (plants.length === 0 && !more) return;
      const mayAdd = table.isFree() && latest.current?.isTop === true;
      if (mayAdd && !more && latest.current?.prepend(plants)) {
        waiting.current = noneWaiting;
        table.onPrepend(plants.length);
      } else if (mayAdd && !searching) return reload();
      redraw(undefined);
    };
    const poll = connection.poll(async (signal) => {
      const followed = latest.current;
      try {
        const timeout = AbortSignal.timeout(responseMsMax);
        const fresh = await followed?.readNew(AbortSignal.any([signal, timeout]));
        setError(undefined);
        if (fresh !== undefined && followed === latest.current) addNew(fresh);
      } catch (reason) {
        if (reason instanceof ApiError && reason.error === staleCursor) reload();
        else if (!signal.aborted) setError(isNoResponse(reason) ? undefined : reason);
      }
      return pollMs;
    });
    return () => poll.stop();
  }, [connection, filterKey, reload]);

  return { list, reloading, waiting: waiting.current, error, showWaiting, reload };
}
