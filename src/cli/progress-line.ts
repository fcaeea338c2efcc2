import type { Terminal } from "./terminal.ts";

const drawEveryMs = 100;
const clearLine = "\r\u001b[2K";

/** Draws one line over and over, on a terminal only; leaves no trace once it is disposed of. */
export function showLine(terminal: Terminal, line: () => string): Disposable {
  if (!terminal.errIsTerminal) return { [Symbol.dispose]: () => {} };
  const timer = setInterval(
    () => terminal.err(clearLine + line().slice(0, terminal.errColumns - 1)),
    drawEveryMs,
  );
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      terminal.err(clearLine);
    },
  };
}

/** 1234567 as 1,234,567. */
export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}
