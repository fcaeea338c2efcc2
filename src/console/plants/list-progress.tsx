import { useEffect, useState } from "preact/hooks";
import { wordsOf } from "../api.ts";
import { count, plural } from "../format.ts";
import type { PlantList } from "./plant-list.ts";

interface ListProgressProps {
  readonly list: PlantList;
  readonly renewing: boolean;
  /** A search goes through the plants one by one, so it is worth saying how far it has come. */
  readonly searching: boolean;
  readonly onGoOn: () => void;
  readonly onRestart: () => void;
}

// A screen reader that hears every number hears nothing else.
const announceEveryMs = 3000;

/** The line under the table: how far one has come, and what can be done about it. */
export function ListProgress({ list, renewing, searching, onGoOn, onRestart }: ListProgressProps) {
  const words = wordsFor(list, searching, renewing);
  const announced = useEvery(words, announceEveryMs);
  const looking = renewing || list.state === "looking";
  return (
    <div class="progress-line">
      <p aria-hidden="true">
        {looking && <span class="spinner" />}
        {words}
      </p>
      <p class="unseen" role="status">
        {announced}
      </p>
      {looking && searching && !renewing && (
        <button type="button" class="quiet" onClick={() => list.stop()}>
          Stop
        </button>
      )}
      {list.state === "stopped" && (
        <button type="button" class="quiet" onClick={() => void list.more()}>
          Go on
        </button>
      )}
      {list.state === "failed" && (
        <button type="button" class="quiet" onClick={list.length === 0 ? onRestart : () => void list.more()}>
          Try again
        </button>
      )}
      {list.state === "full" && (
        <button type="button" class="quiet" onClick={onGoOn}>
          Go on from here
        </button>
      )}
    </div>
  );
}

function wordsFor(list: PlantList, searching: boolean, renewing: boolean): string {
  const loaded = plural(list.length, "plant");
  const searched = plural(list.searched, "plant");
  if (renewing) return "Loading…";
  if (list.state === "failed") return wordsOf(list.trouble);
  if (list.state === "full") return `${loaded} loaded, which is as far as one table goes.`;
  if (searching) {
    if (list.state === "looking") return `Looked through ${searched}, found ${count(list.length)}…`;
    if (list.state === "stopped") return `Stopped. Looked through ${searched}, found ${count(list.length)}.`;
    if (list.state === "ended") return `Found ${loaded} among ${count(list.searched)}.`;
    return `Found ${count(list.length)} so far; scroll for more.`;
  }
  if (list.state === "looking") return list.length === 0 ? "Loading…" : `${loaded} loaded, more are coming…`;
  return list.state === "ended"
    ? `${loaded}, and that is all of them.`
    : `${loaded} loaded; scroll for more.`;
}

/** The value, but changing no more often than that. */
function useEvery(value: string, everyMs: number): string {
  const [shown, setShown] = useState({ value, atMs: 0 });
  useEffect(() => {
    const waitMs = Math.max(0, shown.atMs + everyMs - performance.now());
    const timer = setTimeout(() => setShown({ value, atMs: performance.now() }), waitMs);
    return () => clearTimeout(timer);
  }, [value]);
  return shown.value;
}
