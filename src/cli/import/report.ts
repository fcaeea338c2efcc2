import { grouped } from "../progress-line.ts";
import { visible } from "../terminal.ts";
import type { RefusedRow, Tally } from "./tally.ts";

/** The result of an import as text for the terminal. */
export function reportText(
  tally: Tally,
  failure: string | undefined,
  refusedPath: string | undefined,
): string {
  // The messages come from whatever answered, and must not control the terminal.
  const lines = tally.listed.map((refused) => `${position(refused)}: ${visible(refused.message)}`);
  const more = tally.refused - tally.listed.length;
  if (more > 0) lines.push(`${count(more, "more row was refused", "more rows were refused")}.`);
  if (tally.refused > 0) lines.push(whereRefused(tally, refusedPath));
  if (failure !== undefined) lines.push(visible(failure));
  lines.push(`${counts(tally)} in ${seconds(tally.seconds)} (${grouped(rate(tally))} rows/s).`);
  return `${lines.join("\n")}\n`;
}

export function reportJson(tally: Tally, failure: string | undefined): string {
  const { created, replayed, refused, valid, listed, dryRun } = tally;
  return `${JSON.stringify(
    {
      created,
      replayed,
      refused,
      ...(dryRun ? { valid } : {}),
      complete: failure === undefined,
      ...(failure === undefined ? {} : { failure }),
      refusals: listed,
      moreRefusals: refused - listed.length,
      seconds: Math.round(tally.seconds * 1000) / 1000,
      rowsPerSecond: rate(tally),
    },
    null,
    2,
  )}\n`;
}

export function rate(tally: Tally): number {
  return Math.round(tally.rows / Math.max(tally.seconds, 0.001));
}

function position({ line, element }: RefusedRow): string {
  return element === undefined ? `line ${line}` : `line ${line}, element ${element}`;
}

function whereRefused({ refused, notSaved }: Tally, path: string | undefined): string {
  if (path === undefined) return "With --refused FILE, the refused rows are written to a file unchanged.";
  const saved = `${count(refused - notSaved, "refused row is", "refused rows are")} in ${path}, to be fixed and imported again.`;
  return notSaved === 0
    ? saved
    : `${saved} ${count(notSaved, "is", "are")} too long to be saved there; --max-body-bytes is the limit.`;
}

function counts({ created, replayed, refused, valid, dryRun }: Tally): string {
  if (dryRun) return `${grouped(valid)} valid, ${grouped(refused)} refused; nothing was sent,`;
  return `${grouped(created)} created, ${grouped(replayed)} replayed, ${grouped(refused)} refused`;
}

function count(number: number, one: string, many: string): string {
  return `${grouped(number)} ${number === 1 ? one : many}`;
}

function seconds(value: number): string {
  if (value < 0.1) return "less than 0.1 s";
  return `${value.toFixed(value < 10 ? 1 : 0)} s`;
}
