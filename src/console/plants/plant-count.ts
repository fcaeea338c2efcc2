import { useEffect, useRef, useState } from "preact/hooks";
import type { OperatorApi } from "../api.ts";
import type { MatchCounted } from "../api-shapes.ts";
import { useSession } from "../session.ts";
import { apiFilter, isFiltered, type PlantFilter } from "./plant-filter.ts";
import type { PlantList } from "./plant-list.ts";

export interface Counted {
  readonly plants: number;
  /** Whether the count is complete, or only so far. */
  readonly done: boolean;
}

/** Counts the plants that match a filter of the operator API, which takes up to half a second per part, for as long as it may continue. */
export async function countMatches(
  api: OperatorApi,
  filter: Readonly<Record<string, string>>,
  signal: AbortSignal,
  onPart: (counted: Counted) => boolean,
): Promise<void> {
  let plants = 0;
  let cursor: string | undefined;
  do {
    const query = new URLSearchParams(cursor === undefined ? filter : { ...filter, cursor });
    const part = await api.get<MatchCounted>(`/api/plants/count?${query}`, signal);
    plants += Number(part.plants);
    cursor = part.next;
    if (!onPart({ plants, done: cursor === undefined })) return;
  } while (cursor !== undefined);
}

export interface PlantCount {
  /** Undefined until something was counted. */
  readonly counted: Counted | undefined;
  readonly counting: boolean;
  /** Counts to the end, however long that takes. */
  countAll(): void;
}

interface CountedAt extends Counted {
  readonly list: PlantList;
  // What was known then of new plants.
  readonly arrived: number;
  readonly isOutdated: boolean;
}

// The service reads one thing at a time, and whoever still types waits for the next search.
const delayMs = 300;

/**
 * How many plants match. One part of a count takes the service up to half a second; the rest is counted on request. A list that
 * has ended needs no count, and what is stored afterwards is added.
 */
export function usePlantCount(filter: PlantFilter, list: PlantList | undefined): PlantCount {
  const { api } = useSession();
  const [part, setPart] = useState<CountedAt>();
  const [counting, setCounting] = useState(false);
  const stop = useRef(new AbortController());
  const count = async (all: boolean): Promise<void> => {
    if (list === undefined) return;
    const { signal } = stop.current;
    const found = (counted: Counted): boolean => {
      const { arrived, isOutdated } = list;
      if (!signal.aborted) setPart({ ...counted, list, arrived, isOutdated });
      return all;
    };
    setCounting(true);
    // The page itself reports a service that does not respond.
    await countMatches(api, apiFilter(filter, Date.now()), signal, found).catch(() =>
      found({ plants: list.rows.length, done: false }),
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
  return { counted: list && countedNow(list, part), counting, countAll: () => void count(true) };
}

function countedNow(list: PlantList, part: CountedAt | undefined): Counted | undefined {
  const { state, rows, waiting, arrived, isOutdated } = list;
  if (state === "ended") return { plants: rows.length + waiting.length, done: !isOutdated };
  if (part?.list !== list) return undefined;
  const isCurrent = part.isOutdated || !isOutdated;
  return { plants: part.plants + arrived - part.arrived, done: part.done && isCurrent };
}
