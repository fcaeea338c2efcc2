/** What a command may see and touch of the process it runs in. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  /** Standard input, as it comes; destroyed by whoever asked for it. */
  readonly input: () => AsyncIterable<Uint8Array> & { destroy(): void };
  /** Data, for pipes and people alike. */
  readonly out: (text: string) => void;
  /** The same for much of it: settles when there is room for more, with whether anyone still reads. */
  readonly outSlowly: (text: string) => Promise<boolean>;
  /** Talk: progress, warnings, the log. */
  readonly err: (text: string) => void;
  readonly colourOut: boolean;
  readonly colourErr: boolean;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  /** How wide the terminal is that `err` goes to, now. */
  readonly errColumns: number;
  /** Settles with the first signal that asks the process to stop. */
  readonly stopSignal: () => Promise<string>;
  /** Ends the process without closing a database, whose WAL then stays for recovery. */
  readonly exitWithoutClosing: (code: number) => Promise<never>;
}

/** The command line was used wrongly: told in one sentence, and the exit code is 2. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

export function bold(text: string, colour: boolean): string {
  return colour ? `\u001b[1m${text}\u001b[0m` : text;
}

export function green(text: string, colour: boolean): string {
  return colour ? `\u001b[32m${text}\u001b[0m` : text;
}

/** A stored text as one line that cannot steer the terminal: whatever is not plainly visible is shown by its code. */
export function visible(text: string, charactersMax = Number.POSITIVE_INFINITY): string {
  const shown = text.replaceAll(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`,
  );
  return shown.length > charactersMax ? `${shown.slice(0, charactersMax - 1)}…` : shown;
}

/** Rows as columns, each as wide as its widest cell; the last one runs free. */
export function columns(rows: readonly (readonly string[])[], indent = ""): string {
  const widths = (rows[0] ?? []).map((_, index) =>
    rows.reduce((widest, row) => Math.max(widest, (row[index] ?? "").length), 0),
  );
  const line = (row: readonly string[]) =>
    row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  ");
  return rows.map((row) => `${indent}${line(row)}`.trimEnd()).join("\n");
}
