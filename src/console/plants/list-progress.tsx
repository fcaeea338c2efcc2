import { useEffect, useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import { formatCount, formatPlural } from "../format.ts";
import type { PlantList } from "./plant-list.ts";
import type { PlantCount } from "./use-plant-count.ts";

interface ListProgressProps {
  readonly list: PlantList;
  readonly count: PlantCount;
  /** Whether it lists only what matches a filter. */
  readonly filtered: boolean;
  readonly reloading: boolean;
  /** A search scans the store, so its progress is shown. */
  readonly searching: boolean;
  readonly onContinue: () => void;
  readonly onReload: () => void;
}

// More often, a screen reader would read nothing else.
const announceEveryMs = 3000;

/** How many plants there are, or what is going on, below the table, with buttons to stop, continue and retry. */
export function ListProgress(props: ListProgressProps) {
  const { list, count, reloading, searching, onContinue, onReload } = props;
  const status = statusText(props);
  const announced = useThrottled(status, announceEveryMs);
  const loading = reloading || list.state === "loading";
  const isPartial = count.counted?.done === false && !count.counting;
  return (
    <div class="progress-line">
      <p aria-hidden="true">
        {(loading || count.counting) && <span class="spinner" />}
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
      {list.state === "idle" && isPartial && (
        <button type="button" class="quiet" onClick={count.countAll}>
          Count all
        </button>
      )}
    </div>
  );
}

function statusText({ list, count, filtered, reloading, searching }: ListProgressProps): string {
  const searched = formatPlural(list.searched, "plant");
  if (reloading) return "Loading…";
  if (list.state === "failed") return errorMessage(list.error);
  if (list.state === "full")
    return `${formatPlural(list.length, "plant")} loaded, the maximum for one table.`;
  if (searching && list.state === "loading")
    return `Searched ${searched}, found ${formatCount(list.length)}…`;
  if (list.state === "stopped") return `Stopped. Searched ${searched}, found ${formatCount(list.length)}.`;
  return countText(count, filtered) ?? (list.state === "loading" ? "Loading…" : "Counting…");
}

/** "120,000 plants", "Over 5,000 plants match", or while that is counted, "5,000 plants so far…". */
function countText({ counted, counting }: PlantCount, filtered: boolean): string | undefined {
  if (counted === undefined) return undefined;
  const plants = formatPlural(counted.plants, "plant");
  if (!counted.done && counting) return `${plants} so far…`;
  const matching = filtered ? `${plants} ${counted.plants === 1 ? "matches" : "match"}` : plants;
  return counted.done ? matching : `Over ${matching}`;
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
