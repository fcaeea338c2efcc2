import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import { formatCount, formatPlural } from "../format.ts";
import type { PlantList } from "./plant-list.ts";

interface ListProgressProps {
  readonly list: PlantList;
  readonly reloading: boolean;
  /** A search scans the store, so its progress is shown. */
  readonly searching: boolean;
  readonly onContinue: () => void;
  readonly onReload: () => void;
  readonly children?: ComponentChildren;
}

// More often, a screen reader would read nothing else.
const announceEveryMs = 3000;

/** The status below the table, with buttons to stop, continue and retry. */
export function ListProgress(props: ListProgressProps) {
  const { list, reloading, searching, onContinue, onReload, children } = props;
  const status = statusText(list, searching, reloading);
  const announced = useThrottled(status, announceEveryMs);
  const loading = reloading || list.state === "loading";
  return (
    <div class="progress-line">
      <p aria-hidden="true">
        {loading && <span class="spinner" />}
        {status}
      </p>
      <p class="visually-hidden" role="status">
        {announced}
      </p>
      {loading && searching && !reloading && (
        <button type="button" class="quiet" onClick={() => list.stop()}>
          Stop
        </button>
      )}
      {list.state === "stopped" && (
        <button type="button" class="quiet" onClick={() => void list.loadMore()}>
          Continue
        </button>
      )}
      {list.state === "failed" && (
        <button
          type="button"
          class="quiet"
          onClick={list.length === 0 ? onReload : () => void list.loadMore()}
        >
          Retry
        </button>
      )}
      {list.state === "full" && (
        <button type="button" class="quiet" onClick={onContinue}>
          Continue from here
        </button>
      )}
      {children}
    </div>
  );
}

function statusText(list: PlantList, searching: boolean, reloading: boolean): string {
  const loaded = formatPlural(list.length, "plant");
  const searched = formatPlural(list.searched, "plant");
  if (reloading) return "Loading…";
  if (list.state === "failed") return errorMessage(list.error);
  if (list.state === "full") return `${loaded} loaded, the maximum for one table.`;
  if (searching) {
    if (list.state === "loading") return `Searched ${searched}, found ${formatCount(list.length)}…`;
    if (list.state === "stopped") return `Stopped. Searched ${searched}, found ${formatCount(list.length)}.`;
    if (list.state === "ended") return `Found ${loaded} among ${formatCount(list.searched)}.`;
    return `Found ${formatCount(list.length)} so far; scroll for more.`;
  }
  if (list.state === "loading") return list.length === 0 ? "Loading…" : `${loaded} loaded, loading more…`;
  return list.state === "ended" ? `${loaded} in total.` : `${loaded} loaded; scroll for more.`;
}

/** The value, updated at most this often. */
function useThrottled(value: string, everyMs: number): string {
  const [throttled, setThrottled] = useState({ value, atMs: 0 });
  useEffect(() => {
    const delayMs = Math.max(0, throttled.atMs + everyMs - performance.now());
    const timer = setTimeout(() => setThrottled({ value, atMs: performance.now() }), delayMs);
    return () => clearTimeout(timer);
  }, [value]);
  return throttled.value;
}
