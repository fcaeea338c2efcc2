import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Overview } from "../api-shapes.ts";
import { useSurroundings } from "../session.ts";

const refreshMs = 4000;
// While the tags are still being counted, their absence should not last longer than it must.
const countingMs = 1000;

/** The overview, asked for again every few seconds while the page is visible. */
export function useOverview() {
  const { api, feed } = useSurroundings();
  const [overview, setOverview] = useState<Overview>();
  const [trouble, setTrouble] = useState<unknown>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const stop = useRef(new AbortController());

  const refresh = useCallback(async () => {
    clearTimeout(timer.current);
    stop.current.abort();
    stop.current = new AbortController();
    const { signal } = stop.current;
    let waitMs = refreshMs;
    try {
      const fresh = await api.get<Overview>("/api/overview", signal);
      if (fresh.topTags === undefined) waitMs = countingMs;
      setOverview((before) => keepTags(before, fresh));
      setTrouble(undefined);
    } catch (reason) {
      if (signal.aborted) return;
      setTrouble(reason);
    }
    if (!document.hidden) timer.current = setTimeout(refresh, waitMs);
  }, [api]);

  useEffect(() => {
    const follow = (): void => {
      if (!document.hidden) void refresh();
    };
    document.addEventListener("visibilitychange", follow);
    const leaveFeed = feed.listen({ rejoined: follow });
    void refresh();
    return () => {
      document.removeEventListener("visibilitychange", follow);
      leaveFeed();
      clearTimeout(timer.current);
      stop.current.abort();
    };
  }, [refresh, feed]);

  return { overview, trouble, refresh: () => void refresh() };
}

// Counting may take seconds on a large store; meanwhile the last count is better than none.
function keepTags(before: Overview | undefined, fresh: Overview): Overview {
  if (fresh.topTags !== undefined || before?.topTags === undefined) return fresh;
  return { ...fresh, topTags: before.topTags };
}
