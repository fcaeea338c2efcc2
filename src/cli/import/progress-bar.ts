import { formatCount } from "../progress-line.ts";
import { green, type Terminal } from "../terminal.ts";
import type { Input } from "./input.ts";
import type { Tally } from "./tally.ts";

const barColumns = 24;

/** No wider than the terminal, since a line that wraps cannot be redrawn. */
export function progressLine(
  { colourErr, errColumns }: Pick<Terminal, "colourErr" | "errColumns">,
  { sizeBytes, readBytes }: Pick<Input, "sizeBytes" | "readBytes">,
  tally: Pick<Tally, "rows" | "refused" | "seconds" | "rowsPerSecond">,
): string {
  const refused = tally.refused > 0 ? `  ${formatCount(tally.refused)} refused` : "";
  const counts = `${formatCount(tally.rows)} rows${refused}  ${formatCount(tally.rowsPerSecond)}/s`;
  if (sizeBytes === undefined || sizeBytes === 0) return counts.slice(0, errColumns - 1);
  const share = Math.min(1, readBytes / sizeBytes);
  const leftSeconds = share > 0 ? (tally.seconds * (1 - share)) / share : undefined;
  const left = leftSeconds === undefined ? "" : `  ${formatClock(leftSeconds)} left`;
  const text = ` ${String(Math.floor(share * 100)).padStart(3)}%  ${counts}${left}`;
  if (errColumns - 1 < barColumns + text.length) return text.trim().slice(0, errColumns - 1);
  const filled = Math.round(share * barColumns);
  return `${green("█".repeat(filled), colourErr)}${"░".repeat(barColumns - filled)}${text}`;
}

function formatClock(seconds: number): string {
  const total = Math.ceil(seconds);
  const parts = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  const padded = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return padded.replace(/^(?:00:)?0?/, "");
}
