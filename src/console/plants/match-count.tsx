import { useEffect, useRef, useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import type { MatchCounted } from "../api-shapes.ts";
import { formatPlural } from "../format.ts";
import { useSession } from "../session.ts";
import { apiFilter, type PlantFilter } from "./plant-filter.ts";

interface Counted {
  readonly plants: number;
  readonly done: boolean;
}

/** How many plants match the filter, counted on request, for a list that has not ended. */
export function MatchCount({ filter }: { readonly filter: PlantFilter }) {
  const { api } = useSession();
  const [counted, setCounted] = useState<Counted>();
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const count = async (): Promise<void> => {
    const { signal } = stop.current;
    const fixed = apiFilter(filter, Date.now());
    setBusy(true);
    setError(undefined);
    try {
      let plants = 0;
      let cursor: string | undefined;
      do {
        const query = new URLSearchParams(cursor === undefined ? fixed : { ...fixed, cursor });
        const part = await api.get<MatchCounted>(`/api/plants/count?${query}`, signal);
        plants += Number(part.plants);
        cursor = part.next;
        setCounted({ plants, done: cursor === undefined });
      } while (cursor !== undefined);
    } catch (reason) {
      if (!signal.aborted) setError(errorMessage(reason));
    }
    setBusy(false);
  };
  return (
    <p class="match-count" role="status">
      {error ?? (counted && countText(counted))}
      {!busy && !counted?.done && (
        <button type="button" class="quiet" onClick={() => void count()}>
          Count all
        </button>
      )}
    </p>
  );
}

function countText({ plants, done }: Counted): string {
  return done
    ? `${formatPlural(plants, "plant")} ${plants === 1 ? "matches" : "match"} in total.`
    : `${formatPlural(plants, "plant")} so far…`;
}
