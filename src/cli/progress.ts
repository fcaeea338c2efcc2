import type { Step } from "../plants/plant-backups.ts";
import { formatPlural, shareOf } from "../text/counts.ts";
import { formatBytes } from "../text/sizes.ts";
import { columnsOf, cutToColumns, escapeInvisible, type Terminal } from "./terminal.ts";

/** How far a long command is. */
export interface Progress {
  /** What it is doing, such as `Importing plants.csv`. */
  readonly what: string;
  /** From 0 to 1; undefined if nobody knows how much there is to do. */
  readonly share: number | undefined;
  /** What has been done, such as `82,000 created  12 refused`. */
  readonly outcome: string;
}

const redrawMs = 100;
// A command that is faster draws nothing.
const firstDrawnMs = 500;
// Before that, a guess of the time left says little.
const guessedAfterMs = 1000;
const whatColumnsMin = 12;

/** Shows how far a command is, on a terminal only. The command must let timers run: a loop that never waits draws nothing. */
export function showProgress(terminal: Terminal, progress: () => Progress): Disposable {
  const startedMs = performance.now();
  let { what } = progress();
  let sinceMs = startedMs;
  const draw = (): void => {
    const nowMs = performance.now();
    const current = progress();
    // The time that is left is that of this part.
    if (current.what !== what) sinceMs = nowMs;
    what = current.what;
    if (nowMs - startedMs < firstDrawnMs) return;
    terminal.showLine(formatProgress(current, nowMs - sinceMs, terminal.errColumns));
  };
  const timer = terminal.errCanRedraw ? setInterval(draw, redrawMs) : undefined;
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      terminal.showLine("");
    },
  };
}

/** The progress of a task from its current step. */
export function progressOfStep(what: string, { unit, done, total }: Step): Progress {
  const count = done();
  const amount = unit === "plants" ? formatPlural(count, "plant") : formatBytes(count);
  return { what, share: shareOf(count, total()), outcome: count === 0 ? "" : amount };
}

/**
 * `Importing plants.csv  41 %  0:23 left  82,000 created  3,500/s`, narrower than the terminal, because a line that wraps cannot
 * be redrawn.
 */
export function formatProgress(
  { what, share, outcome }: Progress,
  elapsedMs: number,
  columns: number,
): string {
  const parts: string[] = [];
  if (share !== undefined) parts.push(`${Math.floor(share * 100)} %`);
  if (share && elapsedMs >= guessedAfterMs)
    parts.push(`${clockTime((elapsedMs * (1 - share)) / share)} left`);
  if (outcome !== "") parts.push(outcome);
  const rest = parts.map((part) => `  ${part}`).join("");
  const room = Math.max(whatColumnsMin, columns - 1 - columnsOf(rest));
  return cutToColumns(cutToColumns(escapeInvisible(what), room) + rest, columns - 1);
}

/** 83,000 ms as 1:23. */
function clockTime(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const two = (count: number) => String(count).padStart(2, "0");
  const minutes = Math.floor(seconds / 60) % 60;
  const hours = Math.floor(seconds / 3600);
  return hours === 0 ? `${minutes}:${two(seconds % 60)}` : `${hours}:${two(minutes)}:${two(seconds % 60)}`;
}
