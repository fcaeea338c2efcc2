import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Overview, PlantPage } from "../api-shapes.ts";
import type { Poll } from "../connection.ts";
import { useConnection, useSession } from "../session.ts";

const refreshMs = 4000;
// Until the hours have been counted, and until there is a plant.
const waitingMs = 1000;

/** The overview, refreshed every few seconds, and when `refresh` is called. */
export function useOverview() {
  const { api, connection } = useSession();
  const [overview, setOverview] = useState<Overview>();
  const [loadedAt, setLoadedAt] = useState<string>();
  const [error, setError] = useState<unknown>();
  const { isLost } = useConnection();
  const poll = useRef<Poll>(undefined);
  // It never changes, so it is read until there is one.
  const firstPlantAt = useRef<string>(undefined);

  // Without waiting for a frame.
  useLayoutEffect(() => {
    const started = connection.poll(async (signal) => {
      try {
        const [fresh, oldest] = await Promise.all([
          api.get<Overview>("/api/overview", signal),
          firstPlantAt.current ? undefined : api.get<PlantPage>("/api/plants?order=oldest&limit=1", signal),
        ]);
        firstPlantAt.current ??= oldest?.plants[0]?.createdAt;
        setOverview({ ...fresh, firstPlantAt: firstPlantAt.current });
        setLoadedAt(new Date().toISOString());
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

  // When it was loaded, if it may be out of date.
  const staleSince = error === undefined && !isLost ? undefined : loadedAt;
  return { overview, staleSince, error, refresh: useCallback(() => poll.current?.soon(), []) };
}
