import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, isNoResponse } from "./api.ts";
import { useSession } from "./session.ts";

const retryMs = 4000;
// The numbers of the statuses from 500: the service may recover from these.
const serverErrorsFrom = 50_000;

export interface Loaded<T> {
  /** Undefined until the first response. It stays while newer content cannot be loaded. */
  readonly value: T | undefined;
  readonly error: unknown;
  reload(): void;
}

/** What a page shows. After an error it reloads by itself, so that no page reports an outage that is over. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const { connection } = useSession();
  const [value, setValue] = useState<T>();
  const [error, setError] = useState<unknown>();
  // An earlier response must not replace a later one.
  const loading = useRef<AbortController>(undefined);
  const reload = useCallback(() => {
    loading.current?.abort();
    const current = new AbortController();
    loading.current = current;
    load(current.signal).then(
      (loaded) => {
        if (current.signal.aborted) return;
        setValue(() => loaded);
        setError(undefined);
      },
      (reason: unknown) => current.signal.aborted || setError(reason),
    );
  }, [load]);
  // A layout effect does not wait for a frame, so the request starts earlier.
  useLayoutEffect(() => {
    reload();
    return () => loading.current?.abort();
  }, [reload]);
  useEffect(() => {
    if (!mayPass(error)) return;
    const timer = setInterval(reload, retryMs);
    const unsubscribe = connection.subscribe({ onReconnect: reload });
    return () => {
      clearInterval(timer);
      unsubscribe();
    };
  }, [error, reload, connection]);
  return { value, error, reload };
}

/** Whether the same request may succeed later: there was no response, or the service was unable to respond. */
function mayPass(error: unknown): boolean {
  return isNoResponse(error) || (error instanceof ApiError && error.error >= serverErrorsFrom);
}
