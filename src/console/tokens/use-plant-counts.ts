import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Token } from "../api-shapes.ts";
import { type Counted, countMatches } from "../plants/count-matches.ts";
import { useSession } from "../session.ts";

// A count reads every plant. In a large store it stops after this, and the rest is counted on request.
const unaskedMs = 2000;

interface PlantCounts {
  readonly counts: ReadonlyMap<string, Counted>;
  /** Counts all plants of one token. */
  count(name: string): void;
}

/** How many plants each token has created: counted one by one, live tokens first, once the table is rendered. */
export function usePlantCounts(tokens: readonly Token[]): PlantCounts {
  const { api } = useSession();
  const [counts, setCounts] = useState<ReadonlyMap<string, Counted>>(new Map());
  const stop = useRef(new AbortController());
  const names = [...new Set(tokens.map(({ name }) => name))];
  const countUntil = useCallback(
    (name: string, deadlineMs: number) =>
      countMatches(api, { token: name }, stop.current.signal, (counted) => {
        setCounts((known) => new Map(known).set(name, counted));
        return performance.now() < deadlineMs;
      }),
    [api],
  );
  useEffect(() => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    const deadlineMs = performance.now() + unaskedMs;
    const countAll = async (): Promise<void> => {
      for (const name of names)
        if (!signal.aborted && performance.now() < deadlineMs) await countUntil(name, deadlineMs);
    };
    // The page itself reports a service that does not respond.
    countAll().catch(() => {});
    return () => stop.current.abort();
  }, [names.join("\n"), countUntil]);
  return { counts, count: (name) => void countUntil(name, Number.POSITIVE_INFINITY).catch(() => {}) };
}
