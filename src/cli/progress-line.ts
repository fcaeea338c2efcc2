import type { Terminal } from "./terminal.ts";

const redrawMs = 100;
const clearLine = "\r\u001b[2K";

/** Shows a line of plain text and keeps it up to date, on a terminal only. It is erased on disposal. */
export function showProgress(terminal: Terminal, line: () => string): Disposable {
  return redraw(terminal, () => line().slice(0, terminal.errColumns - 1));
}

/** The same for a line that may contain colours and fits the terminal. */
export function redraw(terminal: Terminal, line: () => string): Disposable {
  if (!terminal.errIsTerminal) return { [Symbol.dispose]: () => {} };
  const timer = setInterval(() => terminal.err(clearLine + line()), redrawMs);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      terminal.err(clearLine);
    },
  };
}

/** 1234567 as 1,234,567. */
export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 row`, `2 rows`; the noun may be a phrase with its verb. */
export function plural(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatPlants(count: number): string {
  return plural(count, "plant", "plants");
}

export function formatMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return plural(bytes, "byte", "bytes");
  if (bytes < 1e6) return `${(bytes / 1000).toFixed(0)} kB`;
  return bytes < 1e9 ? formatMegabytes(bytes) : `${(bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0)} GB`;
}

export function secondsSince(startMs: number): number {
  return Math.floor((performance.now() - startMs) / 1000);
}
