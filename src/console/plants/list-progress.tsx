import { useEffect, useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import { formatCount, formatPlural } from "../format.ts";
import { Button } from "../parts/controls.tsx";
import type { PlantCount } from "./plant-count.ts";
import type { PlantList } from "./plant-list.ts";

interface ListProgressProps {
  readonly list: PlantList;
  readonly count: PlantCount;
  /** Whether it lists only what matches a filter. */
  readonly filtered: boolean;
  readonly reloading: boolean;
  /** A search scans the store, so its progress is shown. */
  readonly searching: boolean;
  /** Loads the list again, from the top or from a cursor. */
  readonly onReload: (from?: string) => void;
}

// More often, a screen reader would read nothing else.
const announceEveryMs = 3000;

/** How many plants there are, or what is going on, below the table, with a button to stop, continue or retry. */
export function ListProgress(props: ListProgressProps) {
  const { list, count, reloading } = props;
  const status = statusText(props);
  const announced = useThrottled(status, announceEveryMs);
  const action = actionOf(props);
  return (
    <div class="progress-line">
      <p aria-hidden="true">
        {(reloading || list.state === "loading" || count.counting) && <span class="spinner" />}
        {status}
      </p>
      <p class="visually-hidden" role="status">
        {announced}
      </p>
      {action && <Button onClick={action.run}>{action.name}</Button>}
    </div>
  );
}

function actionOf({ list, count, reloading, searching, onReload }: ListProgressProps) {
  const loadMore = (): void => void list.loadMore();
  switch (list.state) {
    case "loading":
      return searching && !reloading ? { name: "Stop", run: () => list.stop() } : undefined;
    case "stopped":
      return { name: "Continue", run: loadMore };
    case "failed":
      return { name: "Retry", run: list.rows.length === 0 ? () => onReload() : loadMore };
    case "full":
      return { name: "Continue from here", run: () => onReload(list.nextCursor) };
    case "idle":
      return count.counted?.done === false && !count.counting
        ? { name: "Count all", run: count.countAll }
        : undefined;
  }
}

function statusText({ list, count, filtered, reloading, searching }: ListProgressProps): string {
  const searched = `Searched ${formatPlural(list.searched, "plant")}, found ${formatCount(list.rows.length)}`;
  if (reloading) return "Loading…";
  if (list.state === "failed") return errorMessage(list.error);
  if (list.state === "full")
    return `${formatPlural(list.rows.length, "plant")} loaded, the maximum for one table.`;
  if (searching && list.state === "loading") return `${searched}…`;
  if (list.state === "stopped") return `Stopped. ${searched}.`;
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
