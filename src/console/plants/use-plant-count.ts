import { useEffect, useRef, useState } from "preact/hooks";
import { useSession } from "../session.ts";
import { type Counted, countMatches } from "./count-matches.ts";
import { apiFilter, isFiltered, type PlantFilter } from "./plant-filter.ts";
import type { PlantList, Waiting } from "./plant-list.ts";

export interface PlantCount {
  /** Undefined until something was counted. */
  readonly counted: Counted | undefined;
  readonly counting: boolean;
  /** Counts to the end, however long that takes. */
  countAll(): void;
}

interface CountedAt extends Counted {
  readonly list: PlantList;
  /** How many plants the list knew then to be new. */
  readonly arrived: number;
  /** Whether there were more than these. */
  readonly more: boolean;
}

// The service reads one thing at a time, and whoever still types waits for the next search.
const delayMs = 300;

/**
 * How many plants match. One part of a count takes the service up to half a second; the rest is counted on request. A list that
 * has ended needs no count, and what is stored afterwards is added.
 */
export function usePlantCount(
  filter: PlantFilter,
  list: PlantList | undefined,
  waiting: Waiting,
): PlantCount {
  const { api } = useSession();
  const [part, setPart] = useState<CountedAt>();
  const [counting, setCounting] = useState(false);
  const stop = useRef(new AbortController());
  const count = async (all: boolean): Promise<void> => {
    if (list === undefined) return;
    const { signal } = stop.current;
    const found = (counted: Counted): boolean => {
      if (!signal.aborted) setPart({ ...counted, list, arrived: list.arrived, more: waiting.more });
      return all;
    };
    setCounting(true);
    // The page itself reports a service that does not respond.
    await countMatches(api, apiFilter(filter, Date.now()), signal, found).catch(() =>
      found({ plants: list.length, done: false }),
    );
    if (!signal.aborted) setCounting(false);
  };
  const isEnded = list?.state === "ended";
  useEffect(() => {
    if (list === undefined || isEnded) return;
    const timer = setTimeout(() => void count(false), isFiltered(filter) ? delayMs : 0);
    return () => {
      clearTimeout(timer);
      stop.current.abort();
      stop.current = new AbortController();
      setCounting(false);
    };
  }, [list, isEnded]);
  return { counted: countedNow(), counting, countAll: () => void count(true) };

  function countedNow(): Counted | undefined {
    if (list === undefined) return undefined;
    if (isEnded) return { plants: list.length + waiting.plants.length, done: !waiting.more };
    if (part?.list !== list) return undefined;
    const isCurrent = part.more || !waiting.more;
    return { plants: part.plants + list.arrived - part.arrived, done: part.done && isCurrent };
  }
}
