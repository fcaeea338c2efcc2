import { formatCount, plural } from "../progress-line.ts";
import { escapeInvisible } from "../terminal.ts";
import type { RefusedRow, Tally } from "./tally.ts";

/** The result of an import as text for the terminal. */
export function reportText(
  tally: Tally,
  failure: string | undefined,
  refusedPath: string | undefined,
): string {
  // The messages come from a server, and must not control the terminal.
  const lines = tally.listed.map(
    (refused) => `${formatPosition(refused)}: ${escapeInvisible(refused.message)}`,
  );
  const more = tally.refused - tally.listed.length;
  if (more > 0) lines.push(`${plural(more, "more row was refused", "more rows were refused")}.`);
  if (tally.refused > 0) lines.push(refusedFileText(tally, refusedPath));
  if (failure !== undefined) lines.push(escapeInvisible(failure));
  lines.push(
    `${countsText(tally)} in ${formatSeconds(tally.seconds)} (${formatCount(tally.rowsPerSecond)} rows/s).`,
  );
  if (tally.dryRun) lines.push("This was a dry run: no rows were sent.");
  return `${lines.join("\n")}\n`;
}

export function reportJson(tally: Tally, failure: string | undefined) {
  const { created, replayed, refused, valid, listed, dryRun } = tally;
  return {
    created,
    replayed,
    refused,
    valid: dryRun ? valid : undefined,
    complete: failure === undefined,
    failure,
    refusals: listed,
    moreRefusals: refused - listed.length,
    seconds: Math.round(tally.seconds * 1000) / 1000,
    rowsPerSecond: tally.rowsPerSecond,
  };
}

function formatPosition({ line, element }: RefusedRow): string {
  return element === undefined ? `line ${line}` : `line ${line}, element ${element}`;
}

function refusedFileText({ refused, notSaved }: Tally, path: string | undefined): string {
  if (path === undefined) return "Use --refused FILE to write the refused rows to a file, unchanged.";
  const saved = `${plural(refused - notSaved, "refused row is", "refused rows are")} in ${path}. Fix the file and import it.`;
  return notSaved === 0
    ? saved
    : `${saved} ${plural(notSaved, "row exceeds --max-body-bytes and is", "rows exceed --max-body-bytes and are")} not in it.`;
}

function countsText({ created, replayed, refused, valid, dryRun }: Tally): string {
  if (dryRun) return `${formatCount(valid)} valid, ${formatCount(refused)} refused`;
  return `${formatCount(created)} created, ${formatCount(replayed)} replayed, ${formatCount(refused)} refused`;
}

function formatSeconds(seconds: number): string {
  if (seconds < 0.1) return "less than 0.1 s";
  return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
}
