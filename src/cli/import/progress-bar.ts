import { grouped } from "../progress-line.ts";
import { green, type Terminal } from "../terminal.ts";
import type { Input } from "./input.ts";
import type { Tally } from "./tally.ts";

const drawEveryMs = 100;
const barColumns = 24;
const clearLine = "\r\u001b[2K";

/** Draws how far the import is, on a terminal only; leaves no trace once it is disposed of. */
export function showProgress(terminal: Terminal, input: Input, tally: Tally): Disposable {
  if (!terminal.errIsTerminal) return { [Symbol.dispose]: () => {} };
  const draw = () => terminal.err(clearLine + progressLine(terminal, input, tally));
  const timer = setInterval(draw, drawEveryMs);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      terminal.err(clearLine);
    },
  };
}

/** The line itself, no wider than the terminal: a line that wraps could not be drawn over. */
export function progressLine(
  { colourErr, errColumns }: Pick<Terminal, "colourErr" | "errColumns">,
  { sizeBytes, readBytes }: Pick<Input, "sizeBytes" | "readBytes">,
  tally: Pick<Tally, "rows" | "refused" | "seconds">,
): string {
  const perSecond = Math.round(tally.rows / Math.max(tally.seconds, 0.001));
  const refused = tally.refused > 0 ? `  ${grouped(tally.refused)} refused` : "";
  const counts = `${grouped(tally.rows)} rows${refused}  ${grouped(perSecond)}/s`;
  if (sizeBytes === undefined || sizeBytes === 0) return counts.slice(0, errColumns - 1);
  const share = Math.min(1, readBytes / sizeBytes);
  const leftSeconds = share > 0 ? (tally.seconds * (1 - share)) / share : undefined;
  const left = leftSeconds === undefined ? "" : `  ${clock(leftSeconds)} left`;
  const text = ` ${String(Math.floor(share * 100)).padStart(3)}%  ${counts}${left}`;
  if (errColumns - 1 < barColumns + text.length) return text.trim().slice(0, errColumns - 1);
  const full = Math.round(share * barColumns);
  return `${green("█".repeat(full), colourErr)}${"░".repeat(barColumns - full)}${text}`;
}

function clock(seconds: number): string {
  const whole = Math.ceil(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const relevant = parts[0] === 0 ? parts.slice(1) : parts;
  return relevant
    .map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, "0")))
    .join(":");
}
