import { useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";
import type { JsonFrom, PathOf, SentTo } from "../../operator/operator-table.ts";
import { describeError, isNoResponse, isRetryableApiError, urlOf } from "../api.ts";
import { pollMs, type ServiceConnection } from "../connection.ts";
import { useConsole, useObserved } from "../console.ts";

/** Loads the response of the operator API every second, while the tab is visible. */
export function useLive<Path extends PathOf<"GET">>(path: Path, values: SentTo<`GET ${Path}`>) {
  return useLoad(path, values, true);
}

/**
 * Loads the response of the operator API. After an error it tries again, if that may help. The last response stays while a newer
 * one cannot be loaded. No page reports an outage that is over.
 */
export function useLoad<Path extends PathOf<"GET">>(
  path: Path,
  values: SentTo<`GET ${Path}`>,
  isLive = false,
) {
  type Json = JsonFrom<`GET ${Path}`>;
  const { api, connection } = useConsole();
  const { isLost } = useConnection();
  const [value, setValue] = useState<Json>();
  const [failure, setFailure] = useState<unknown>();
  const [version, reload] = useReducer<number, void>((count) => count + 1, 0);
  // A layout effect does not wait for a frame, so the request starts earlier.
  useLayoutEffect(() => {
    const poll = connection.poll(async (signal) => {
      let loaded: Json | undefined;
      let reason: unknown;
      try {
        loaded = await api.get(path, values, signal);
      } catch (thrown) {
        reason = thrown;
      }
      // A response that had arrived before the stop is older than what is loaded now.
      if (poll.isStopped) return;
      if (reason === undefined) setValue(() => loaded);
      setFailure(reason);
      return isLive || isRetryableApiError(reason) ? pollMs : undefined;
    });
    return () => poll.stop();
  }, [api, connection, urlOf(path, values), version]);
  // The frame says that there is no connection, so a page that has something to show does not.
  const error = value !== undefined && isNoResponse(failure) ? undefined : failure;
  return {
    value,
    error,
    /** Whether there is nothing to show yet. */
    isLoading: value === undefined && error === undefined,
    isStale: failure !== undefined || isLost,
    reload,
  };
}

/** What a button starts: whether it is still running, and why the last attempt failed. */
export function useAttempt() {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<string>();
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      await work();
    } catch (reason) {
      setError(describeError(reason));
    }
    setIsBusy(false);
  };
  const clearError = (): void => setError(undefined);
  return { isBusy, error, attempt, clearError };
}

/** Whether the service responds, and since when. */
export function useConnection(): Pick<ServiceConnection, "isLost" | "since"> {
  return useObserved(useConsole().connection);
}

/** Calls back for every event that reaches the window. */
export function useWindowEvent<Type extends keyof WindowEventMap>(
  type: Type,
  onEvent: (event: WindowEventMap[Type]) => void,
): void {
  useEffect(() => {
    addEventListener(type, onEvent);
    return () => removeEventListener(type, onEvent);
  });
}

/** Calls back for every key pressed on the page, unless it is typed into a field or a dialog is open. */
export function usePageKeys(onKey: (event: KeyboardEvent) => void): void {
  useWindowEvent("keydown", (event) => {
    const isTyped = event.target instanceof Element && event.target.matches("input, select, textarea");
    const isShortcut = event.ctrlKey || event.metaKey || event.altKey;
    const hasDialog = document.querySelector("dialog[open]") !== null;
    if (!isTyped && !isShortcut && !hasDialog) onKey(event);
  });
}

/**
 * The newest value, or the one before while someone points at the element that shows it, or moves through it with the keyboard:
 * nothing in it may move then.
 */
export function useUnlessRead<T>(newest: T, selector: string): T {
  const [shown, setShown] = useState(newest);
  useLayoutEffect(() => {
    const isRead = document.querySelector(`${selector}:is(:hover, :has(:focus-visible))`) !== null;
    if (!isRead) setShown(() => newest);
  }, [newest]);
  return shown;
}
