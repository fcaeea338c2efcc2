import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Overview } from "../api-shapes.ts";
import { useSession } from "../session.ts";

const refreshMs = 4000;
// Until the hours have been counted.
const countingMs = 1000;

/** The overview, refreshed every few seconds while the page is visible. */
export function useOverview() {
  const { api, feed } = useSession();
  const [overview, setOverview] = useState<Overview>();
  const [loadedAt, setLoadedAt] = useState<string>();
  const [error, setError] = useState<unknown>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const stop = useRef(new AbortController());

  const refresh = useCallback(async () => {
    clearTimeout(timer.current);
    stop.current.abort();
    stop.current = new AbortController();
    const { signal } = stop.current;
    let delayMs = refreshMs;
    try {
      const fresh = await api.get<Overview>("/api/overview", signal);
      if (fresh.perHour === undefined) delayMs = countingMs;
      setOverview(fresh);
      setLoadedAt(new Date().toISOString());
      setError(undefined);
    } catch (reason) {
      if (signal.aborted) return;
      setError(reason);
    }
    if (!document.hidden) timer.current = setTimeout(refresh, delayMs);
  }, [api]);

  // Without waiting for a frame.
  useLayoutEffect(() => {
    const refreshIfVisible = (): void => {
      if (!document.hidden) void refresh();
    };
    document.addEventListener("visibilitychange", refreshIfVisible);
    const unsubscribe = feed.subscribe({ onReconnect: refreshIfVisible });
    void refresh();
    return () => {
      document.removeEventListener("visibilitychange", refreshIfVisible);
      unsubscribe();
      clearTimeout(timer.current);
      stop.current.abort();
    };
  }, [refresh, feed]);

  return { overview, loadedAt, error, refresh: () => void refresh() };
}
