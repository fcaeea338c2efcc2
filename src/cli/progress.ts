import type { Step } from "../plants/plant-backups.ts";
import { formatCount, formatPlural, shareOf } from "../text/counts.ts";
import { formatBytes } from "../text/sizes.ts";
import { columnsOf, cutToColumns, escapeInvisible, type Terminal } from "./terminal.ts";

/** How far a long command is. */
export interface Progress {
  /**
   * What it is doing, such as `Importing plants.csv (CSV)`. Another text is another part, with its own rate and time; a text that
   * comes back continues its part. The time before the share is known is a part of its own, since it says nothing of the rest.
   */
  readonly what: string;
  readonly done: number;
  readonly unit: "plants" | "bytes";
  /** What has been done as text, if its number is not enough, such as `82,000 created  12 refused`. */
  readonly outcome?: string;
  /** From 0 to 1; undefined if nobody knows how much there is to do. */
  readonly share: number | undefined;
}

/** The line on the terminal. Disposal ends it. */
export interface ProgressLine extends Disposable {
  /** Erases the line until it is drawn again, so that a message can be printed. */
  clear(): void;
  /** Erases the line for good. */
  end(): void;
}

const redrawMs = 100;
// A command that is faster draws nothing.
const firstDrawnMs = 500;
// Before that, a rate and a guess of the time left say little: a part may have done much before it is first drawn.
const guessedAfterMs = 1000;
const clearLine = "\r\u001b[2K";
const barColumns = 16;
const shortBarColumns = 8;
const nameColumnsMin = 12;
// What a rate and a time left mostly look like.
const rateRoom = "000,000/s";
const timeRoom = "0:00 left";

/** Shows how far a command is, on a terminal only. The command must let timers run: a loop that never waits draws nothing. */
export function showProgress(terminal: Terminal, progress: () => Progress): ProgressLine {
  if (!terminal.errCanRedraw) return { clear: () => {}, end: () => {}, [Symbol.dispose]: () => {} };
  const startedMs = performance.now();
  let isDrawn = false;
  const partStartsMs = new Map([[partOf(progress()), startedMs]]);
  const clear = (): void => {
    if (isDrawn) terminal.err(clearLine);
    isDrawn = false;
  };
  const draw = (): void => {
    const nowMs = performance.now();
    const current = progress();
    const part = partOf(current);
    const partStartedMs = partStartsMs.get(part) ?? nowMs;
    partStartsMs.set(part, partStartedMs);
    if (nowMs - startedMs < firstDrawnMs) return;
    terminal.err(clearLine + formatProgress(current, nowMs - partStartedMs, terminal.errColumns));
    isDrawn = true;
  };
  const timer = setInterval(draw, redrawMs);
  const end = (): void => {
    clearInterval(timer);
    clear();
  };
  return { clear, end, [Symbol.dispose]: end };
}

/** The progress of a task from its current step. */
export function progressOfStep(what: string, step: Step): Progress {
  const done = step.done();
  return { what, done, unit: step.unit, share: shareOf(done, step.total()) };
}

/**
 * `Importing plants.csv (CSV)  [########........]  41 %  82,000 created  3,500/s  0:23 left`, narrower than the terminal, because
 * a line that wraps cannot be redrawn. What matters least goes first: the rate, half of the bar, the name, the bar. What is not
 * known yet has its room from the beginning, so that nothing moves when it comes.
 */
export function formatProgress(progress: Progress, elapsedMs: number, columns: number): string {
  const { share } = progress;
  const what = escapeInvisible(progress.what);
  const percent = share === undefined ? "" : `${String(Math.floor(share * 100)).padStart(2)} %`;
  const done = progress.outcome ?? amountText(progress);
  const rate = rateText(progress, elapsedMs);
  const time = timeLeftText(share, elapsedMs);
  const columnsMax = columns - 2;
  const fits = (...parts: readonly string[]) => columnsOf(joined(...parts)) <= columnsMax;
  const start = [what, bar(share, barColumns), percent, done];
  if (fits(...start, rate || rateRoom, time || timeRoom)) return joined(...start, rate, time);
  if (fits(...start, time || timeRoom)) return joined(...start, time);
  const end = joined(bar(share, shortBarColumns), percent, done, time);
  if (fits(what, end, time === "" ? timeRoom : "")) return joined(what, end);
  // Between the name and the rest are two columns, and a name that is cut may be one column wider.
  const nameColumns = columnsMax - columnsOf(end) - 3;
  if (nameColumns >= nameColumnsMin) return joined(cutToColumns(what, nameColumns), end);
  if (fits(end)) return end;
  return cutToColumns(joined(percent, done, time), columnsMax);
}

/** The name of a part, among all parts of the command. */
function partOf({ what, share }: Progress): string {
  return `${what} ${share === undefined ? "of an unknown total" : "of a known total"}`;
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("  ");
}

function bar(share: number | undefined, columns: number): string {
  if (share === undefined) return "";
  const filled = Math.floor(share * columns);
  return `[${"#".repeat(filled)}${".".repeat(columns - filled)}]`;
}

/** As wide as the whole amount will be, if the share says how much that is. */
function amountText({ done, unit, share }: Progress): string {
  if (done === 0) return "";
  const format = (amount: number) =>
    unit === "plants" ? formatPlural(amount, "plant") : formatBytes(amount);
  const total = share === undefined ? done : done / share;
  return format(done).padStart(format(Math.round(total)).length);
}

function rateText({ done, unit }: Progress, elapsedMs: number): string {
  if (elapsedMs < guessedAfterMs) return "";
  const perSecond = Math.round((done * 1000) / elapsedMs);
  if (perSecond === 0) return "";
  return unit === "plants" ? `${formatCount(perSecond)}/s` : `${formatBytes(perSecond)}/s`;
}

/** The time that is left at the rate so far; if that is not known, the time that it has taken. */
function timeLeftText(share: number | undefined, elapsedMs: number): string {
  if (share === undefined) return clockTime(elapsedMs);
  if (share <= 0 || elapsedMs < guessedAfterMs) return "";
  // A part that is not done has some time left.
  return `${clockTime(Math.max(1000, (elapsedMs * (1 - share)) / share))} left`;
}

/** 83,000 ms as 1:23. */
function clockTime(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const two = (count: number) => String(count).padStart(2, "0");
  const minutes = Math.floor(seconds / 60) % 60;
  const hours = Math.floor(seconds / 3600);
  return hours === 0 ? `${minutes}:${two(seconds % 60)}` : `${hours}:${two(minutes)}:${two(seconds % 60)}`;
}
