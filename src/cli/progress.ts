import type { OnStep, Step } from "../plants/plant-backups.ts";
import { formatPlural, shareOf } from "../text/counts.ts";
import { formatBytes } from "../text/sizes.ts";
import { isoTime } from "../text/time.ts";
import { capitalized } from "../text/words.ts";
import { columnsOf, cutToColumns, escapeInvisible, type Terminal } from "./terminal.ts";

/** How far a long command is. */
export interface Progress {
  /** What it is doing, such as `importing plants.csv`. */
  readonly what: string;
  /** From 0 to 1; undefined if nobody knows how much there is to do. */
  readonly share: number | undefined;
  /** What has been done, such as `82,000 created  12 refused`. */
  readonly outcome: string;
}

interface ProgressOptions {
  /** What to know after an interruption, such as `There is no backup.`, and how to go on. Without it nothing is said then. */
  readonly next?: string;
  /** Whether it prints rows all the time. The line is then not drawn between them. */
  readonly printsRows?: boolean;
}

export const startsOver = "Run this again; it starts from the beginning.";
export const resumes = "Run this again; it resumes.";

const redrawMs = 100;
// A command that is faster draws nothing.
const firstDrawnMs = 500;
// Before that, a guess of the time left says little.
const guessedAfterMs = 1000;
const whatColumnsMin = 12;

/**
 * Shows how far a command is, on a terminal only, and says it at an interruption. The command must let timers run: a loop that
 * never waits draws nothing.
 */
export function showProgress(
  terminal: Terminal,
  progress: () => Progress,
  { next, printsRows }: ProgressOptions = {},
): Disposable {
  if (next !== undefined)
    terminal.ifInterrupted(() => {
      const { what, outcome } = progress();
      const after = outcome === "" ? "" : `, after ${outcome}`;
      terminal.err(`Interrupted while ${what}${after}. ${next}\n`);
    });
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
  const isDrawn = terminal.errCanRedraw && !(printsRows && terminal.outIsTerminal);
  const timer = isDrawn ? setInterval(draw, redrawMs) : undefined;
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      terminal.showLine("");
    },
  };
}

/** Shows the progress of work that reports its steps. `object` completes what each one does, such as the name of a file. */
export async function withSteps<Result>(
  terminal: Terminal,
  { object, next }: { readonly object: string; readonly next: string },
  work: (onStep: OnStep) => Promise<Result>,
): Promise<Result> {
  let step: Step = { doing: "opening", unit: "bytes", done: () => 0, total: () => 0 };
  const progress = (): Progress => {
    const done = step.done();
    const amount = step.unit === "plants" ? formatPlural(done, "plant") : formatBytes(done);
    const share = shareOf(done, step.total());
    return { what: `${step.doing} ${object}`, share, outcome: done === 0 ? "" : amount };
  };
  using _line = showProgress(terminal, progress, { next });
  return await work((begun) => {
    step = begun;
  });
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
  return cutToColumns(cutToColumns(capitalized(escapeInvisible(what)), room) + rest, columns - 1);
}

/** 83,000 ms as 1:23. */
function clockTime(ms: number): string {
  const [, hours = ""] = /T(.*)\./.exec(isoTime(ms)) ?? [];
  return hours.replace(/^00:0?/, "");
}
