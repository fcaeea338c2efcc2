import { useEffect, useState } from "preact/hooks";
import type { MatchCounted } from "../api-shapes.ts";
import { useSession } from "../session.ts";
import { apiFilter, isFiltered, type PlantFilter } from "./plant-filter.ts";
import type { PlantList } from "./plant-list.ts";

export interface Counted {
  readonly plants: number;
  /** Whether the count is complete, or only so far. */
  readonly done: boolean;
}

interface CountedAt extends Counted {
  readonly list: PlantList;
  /** How many new plants were known then. */
  readonly arrived: number;
}

// The service reads one thing at a time, and whoever still types waits for the next search.
const delayMs = 300;

/**
 * How many plants match; undefined until something was counted. The service counts for up to half a second per part. A list that
 * has ended needs no count, and what is stored afterwards is added.
 */
export function usePlantCount(filter: PlantFilter, list: PlantList | undefined): Counted | undefined {
  const { api } = useSession();
  const [part, setPart] = useState<CountedAt>();
  const isEnded = list?.state === "ended";
  useEffect(() => {
    if (list === undefined || isEnded) return;
    const stop = new AbortController();
    const found = (plants: number, done: boolean): void => {
      if (!stop.signal.aborted) setPart({ plants, done, list, arrived: list.arrived });
    };
    const count = async (): Promise<void> => {
      let plants = 0;
      const query = new URLSearchParams(apiFilter(filter, Date.now()));
      for (let isLast = false; !isLast; ) {
        const counted = await api.get<MatchCounted>(`/api/plants/count?${query}`, stop.signal);
        plants += Number(counted.plants);
        isLast = counted.next === undefined;
        query.set("cursor", counted.next ?? "");
        found(plants, isLast);
      }
    };
    const delay = isFiltered(filter) ? delayMs : 0;
    // The page itself reports a service that does not respond.
    const timer = setTimeout(() => count().catch(() => found(list.rows.length, false)), delay);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [list, isEnded]);
  return list && countedNow(list, part);
}

function countedNow(list: PlantList, part: CountedAt | undefined): Counted | undefined {
  const { state, rows, waiting, arrived, isOutdated } = list;
  if (state === "ended") return { plants: rows.length + waiting.length, done: !isOutdated };
  if (part?.list !== list) return undefined;
  return { plants: part.plants + arrived - part.arrived, done: part.done && !isOutdated };
}
