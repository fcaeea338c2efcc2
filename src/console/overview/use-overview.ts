import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Overview } from "../api-shapes.ts";
import type { Poll } from "../connection.ts";
import { useConnection } from "../parts/hooks.ts";
import { useSession } from "../session.ts";

const refreshMs = 4000;
// Until the hours have been counted, and until there is a plant.
const waitingMs = 1000;

/** The overview, refreshed every few seconds, and when `refresh` is called. */
export function useOverview() {
  const { api, connection } = useSession();
  const [overview, setOverview] = useState<Overview>();
  const [error, setError] = useState<unknown>();
  const { isLost } = useConnection();
  const poll = useRef<Poll>(undefined);

  // Without waiting for a frame.
  useLayoutEffect(() => {
    const started = connection.poll(async (signal) => {
      try {
        const fresh = await api.get<Overview>("/api/overview", signal);
        setOverview(fresh);
        setError(undefined);
        return fresh.perHour === undefined || fresh.total === "0" ? waitingMs : refreshMs;
      } catch (reason) {
        if (!signal.aborted) setError(reason);
        return refreshMs;
      }
    });
    poll.current = started;
    return () => started.stop();
  }, [api, connection]);

  // It may be out of date.
  const isStale = error !== undefined || isLost;
  return { overview, isStale, error, refresh: useCallback(() => poll.current?.soon(), []) };
}
