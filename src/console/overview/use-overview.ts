import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Overview } from "../api-shapes.ts";
import type { Poll } from "../connection.ts";
import { useConnection, useSession } from "../session.ts";

const refreshMs = 4000;
// Until the hours have been counted.
const countingMs = 1000;

/** The overview, refreshed every few seconds, and when `refresh` is called. */
export function useOverview() {
  const { api, connection } = useSession();
  const [overview, setOverview] = useState<Overview>();
  const [loadedAt, setLoadedAt] = useState<string>();
  const [error, setError] = useState<unknown>();
  const { isLost } = useConnection();
  const poll = useRef<Poll>(undefined);

  // Without waiting for a frame.
  useLayoutEffect(() => {
    const started = connection.poll(async (signal) => {
      try {
        const fresh = await api.get<Overview>("/api/overview", signal);
        setOverview(fresh);
        setLoadedAt(new Date().toISOString());
        setError(undefined);
        return fresh.perHour === undefined ? countingMs : refreshMs;
      } catch (reason) {
        if (!signal.aborted) setError(reason);
        return refreshMs;
      }
    });
    poll.current = started;
    return () => started.stop();
  }, [api, connection]);

  // When it was loaded, if it may be out of date.
  const staleSince = error === undefined && !isLost ? undefined : loadedAt;
  return { overview, staleSince, error, refresh: useCallback(() => poll.current?.soon(), []) };
}
