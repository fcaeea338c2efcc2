import { useCallback, useEffect, useReducer, useRef, useState } from "preact/hooks";
import type { Plant } from "../api-shapes.ts";
import { useSurroundings } from "../session.ts";
import { apiFilter, belongs, filterQuery, isFiltered, type PlantFilter } from "./plant-filter.ts";
import { PlantList } from "./plant-list.ts";

// Under a flood of new plants the top is read anew at most this often.
const renewMs = 1500;

export interface LiveList {
  /** Undefined until the first answer has come. */
  readonly list: PlantList | undefined;
  /** Another list is on its way; the present one is shown until then. */
  readonly renewing: boolean;
  /** New plants that wait above, since someone is reading further down. */
  readonly waiting: number;
  /** Brings the waiting ones in. */
  show(): void;
  /** Begins again, from the top or from a cursor. */
  restart(from?: string): void;
}

interface Top {
  /** Whether the top of the table is what is seen. */
  isSeen(): boolean;
  /** So many rows came in above. */
  grew(rows: number): void;
}

/** The list for a filter, with newcomers put on top while the top is seen. */
export function usePlantList(filter: PlantFilter, top: Top): LiveList {
  const { api, feed } = useSurroundings();
  const [, draw] = useReducer((turn: number, _: undefined) => turn + 1, 0);
  const [list, setList] = useState<PlantList>();
  const [renewing, setRenewing] = useState(true);
  const [waiting, setWaiting] = useState(0);
  const missed = useRef<readonly Plant[]>([]);
  const mustRenew = useRef(false);
  const renewedMs = useRef(0);
  const newest = useRef<PlantList>(undefined);
  const filterKey = filterQuery(filter).toString();

  const restart = useCallback(
    (from?: string) => {
      const query = { ...apiFilter(filter, Date.now()), order: filter.order };
      const changed = (): void => {
        // The list before stays on the screen until the first answer, so that nothing flickers.
        if (begun.state !== "looking" || begun.searched > 0) {
          setList(begun);
          setRenewing(false);
        }
        draw(undefined);
      };
      const begun = new PlantList(api, query, changed, from);
      newest.current?.close();
      newest.current = begun;
      missed.current = [];
      mustRenew.current = false;
      renewedMs.current = performance.now();
      setWaiting(0);
      setRenewing(true);
      void begun.more();
    },
    [api, filterKey],
  );
  useEffect(() => restart(), [restart]);
  useEffect(() => () => newest.current?.close(), []);

  const show = useCallback(() => {
    if (mustRenew.current || newest.current?.arrive(missed.current) === undefined) return restart();
    missed.current = [];
    setWaiting(0);
  }, [restart]);

  useEffect(() => {
    if (filter.order !== "newest") return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    // A search goes through all plants, so that it is begun anew only when someone asks for that.
    const searching = filter.name !== "" || filter.token !== "";
    const isSeen = (): boolean => top.isSeen() && newest.current?.isTop !== false;
    const renewSoon = (): void => {
      timer ??= setTimeout(
        () => {
          timer = undefined;
          if (isSeen()) restart();
        },
        Math.max(0, renewedMs.current + renewMs - performance.now()),
      );
    };
    const leave = feed.listen({
      news({ plants, more }) {
        const ours = plants.filter((plant) => belongs(plant, filter));
        // Those that were left out may belong here too; only the store can tell.
        if (more > 0) mustRenew.current = true;
        else if (ours.length === 0) return;
        const added =
          isSeen() && !mustRenew.current ? newest.current?.arrive([...missed.current, ...ours]) : undefined;
        if (added !== undefined) {
          missed.current = [];
          setWaiting(0);
          top.grew(added);
          draw(undefined);
        } else if (isSeen() && !searching) renewSoon();
        else {
          missed.current = mustRenew.current ? [] : [...missed.current, ...ours];
          setWaiting((before) => before + ours.length + (isFiltered(filter) ? 0 : more));
        }
      },
      rejoined() {
        mustRenew.current = true;
        const state = newest.current?.state;
        if (isSeen() && !(searching && (state === "looking" || state === "stopped"))) restart();
      },
    });
    return () => {
      leave();
      clearTimeout(timer);
    };
  }, [feed, filterKey, restart]);

  return { list, renewing, waiting, show, restart };
}
