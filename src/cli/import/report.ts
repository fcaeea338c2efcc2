import { grouped } from "../progress-line.ts";
import { visible } from "../terminal.ts";
import type { RefusedRow, Tally } from "./tally.ts";

/** How an import ended, in words for the terminal. */
export function reportText(
  tally: Tally,
  failure: string | undefined,
  refusedPath: string | undefined,
): string {
  // Whatever answers may have put its own words in, and they must not steer the terminal.
  const lines = tally.told.map((refused) => `${place(refused)}: ${visible(refused.message)}`);
  const more = tally.refused - tally.told.length;
  if (more > 0) lines.push(`${count(more, "more row was refused", "more rows were refused")}.`);
  if (tally.refused > 0) lines.push(whereRefused(tally, refusedPath));
  if (failure !== undefined) lines.push(visible(failure));
  lines.push(`${counts(tally)} in ${seconds(tally.seconds)} (${grouped(rate(tally))} rows/s).`);
  return `${lines.join("\n")}\n`;
}

export function reportJson(tally: Tally, failure: string | undefined): string {
  const { created, replayed, refused, sound, told, dryRun } = tally;
  return `${JSON.stringify(
    {
      created,
      replayed,
      refused,
      ...(dryRun ? { sound } : {}),
      complete: failure === undefined,
      ...(failure === undefined ? {} : { failure }),
      refusals: told,
      moreRefusals: refused - told.length,
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

function place({ line, element }: RefusedRow): string {
  return element === undefined ? `line ${line}` : `line ${line}, element ${element}`;
}

function whereRefused({ refused, notKept }: Tally, path: string | undefined): string {
  if (path === undefined) return "With --refused FILE, the refused rows are written to a file as they came.";
  const kept = `${count(refused - notKept, "refused row is", "refused rows are")} in ${path}, to be mended and imported again.`;
  return notKept === 0
    ? kept
    : `${kept} ${count(notKept, "is", "are")} too long to be kept there; --max-body-bytes is the limit.`;
}

function counts({ created, replayed, refused, sound, dryRun }: Tally): string {
  if (dryRun) return `${grouped(sound)} sound, ${grouped(refused)} refused; nothing was sent,`;
  return `${grouped(created)} created, ${grouped(replayed)} replayed, ${grouped(refused)} refused`;
}

function count(number: number, one: string, many: string): string {
  return `${grouped(number)} ${number === 1 ? one : many}`;
}

function seconds(value: number): string {
  if (value < 0.1) return "less than 0.1 s";
  return `${value.toFixed(value < 10 ? 1 : 0)} s`;
}
