import { useEffect, useRef, useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import { formatPlural } from "../format.ts";
import { useSession } from "../session.ts";
import { type Counted, countMatches } from "./count-matches.ts";
import { apiFilter, type PlantFilter } from "./plant-filter.ts";

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
      await countMatches(api, fixed, signal, (part) => {
        setCounted(part);
        return true;
      });
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
