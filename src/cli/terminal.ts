import { constants } from "node:os";
import { letterWithoutInk } from "../files/visible-text.ts";
import { formatJson } from "../text/json-text.ts";

// On a very narrow terminal, lines that are too long are easier to read than many with a word each.
const lastColumnsMin = 14;
const invisible = String.raw`[\p{C}\p{Zl}\p{Zp}]|${letterWithoutInk}`;
const lineEnd = String.raw`\r?\n`;
// A colour of the log.
const colour = String.raw`\u001b\[\d+m`;
const clearLine = "\r\u001b[2K";
const invisibleCharacter = new RegExp(invisible, "gu");
const invisibleInLines = new RegExp(`(?<kept>${lineEnd})|${invisible}`, "gu");
const invisibleInLog = new RegExp(`(?<kept>${lineEnd}|${colour})|${invisible}`, "gu");

/** The parts of the process that a command may use. */
export interface Process {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  /** Opens standard input; the caller destroys it. */
  readonly input: () => AsyncIterable<Uint8Array> & { destroy(): void };
  /** Writes data to standard output. */
  readonly out: (data: string | Uint8Array) => void;
  /**
   * Resolves once everything that was written is out, or with false if the reader is gone.
   * @throws Problem it cannot be written, such as to a full disk.
   */
  readonly outFlushed: () => Promise<boolean>;
  /** Writes messages to standard error: errors, warnings, progress, the log. */
  readonly err: (text: string) => void;
  /** Whether the log is coloured; nothing else is. */
  readonly errHasColour: boolean;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  /** Whether a line that was written to standard error can be erased and drawn again. */
  readonly errCanRedraw: boolean;
  /** Whether journald reads standard error. */
  readonly errIsJournal: boolean;
  /** The current width of the terminal that `out` writes to; 80 if that is none. */
  readonly outColumns: number;
  /** The current width of the terminal that `err` writes to. */
  readonly errColumns: number;
  /** Resolves with the first signal to stop, or with the reason if it was none. */
  readonly waitForStopSignal: () => Promise<string>;
  /** Exits without closing the database, so that its WAL is left for recovery. */
  readonly exitWithoutClosing: (code: number) => Promise<never>;
}

/** The process as a command sees it. What it prints cannot control a terminal, and its messages break between words there. */
export interface Terminal extends Process {
  /** Writes much data to standard output, and resolves as `outFlushed` does. */
  readonly outWithBackpressure: (data: string | Uint8Array) => Promise<boolean>;
  /** Writes messages that --quiet leaves out to standard error: what was done, and hints. */
  readonly note: (text: string) => void;
  /** Writes a warning to standard error: one sentence or more. */
  readonly warn: (sentence: string) => void;
  readonly printJson: (value: unknown) => void;
  /** Shows this line on a terminal, in place of the one before it, until anything else is printed; an empty one erases it. */
  readonly showLine: (line: string) => void;
  /** Sets how a command reports what was done, and how to go on, if a signal ends it. */
  readonly ifInterrupted: (report: () => void) => void;
  /** Reports that as the command has set it. */
  readonly reportInterrupted: () => void;
}

/** The exit code of a command that was interrupted, as a shell would have it; anything but a signal counts as SIGTERM. */
export function interruptedCode(signal: string): number {
  const signals: Readonly<Record<string, number | undefined>> = constants.signals;
  return 128 + (signals[signal] ?? constants.signals.SIGTERM);
}

/** The text on one line, with control and invisible characters escaped, so that it cannot control the terminal. */
export function escapeInvisible(text: string): string {
  return text.replaceAll(invisibleCharacter, escapeCharacter);
}

/**
 * The terminal of a command. Nothing which comes from elsewhere, such as the name of a plant in an export or an error of a server,
 * controls it or hides on it; the data that a program reads stays as it is. A log has colours and escapes of its own, and its lines
 * are not broken.
 */
export function terminalOf(given: Process, { isLog = false, isQuiet = false } = {}): Terminal {
  const { outIsTerminal, errIsTerminal } = given;
  const canRedraw = given.errCanRedraw && !isQuiet;
  let hasLine = false;
  let reportInterrupted = (): void => {};
  const showLine = (line: string): void => {
    if (canRedraw && (hasLine || line !== "")) given.err(clearLine + line);
    hasLine = canRedraw && line !== "";
  };
  const printLog = (text: string) => given.err(errIsTerminal ? escapeUnkept(text, invisibleInLog) : text);
  const printMessage = (text: string): void => {
    showLine("");
    const lines = escapeUnkept(text, invisibleInLines);
    given.err(errIsTerminal ? wrappedLines(lines, given.errColumns) : lines);
  };
  const out = (data: string | Uint8Array) =>
    given.out(outIsTerminal && typeof data === "string" ? escapeUnkept(data, invisibleInLines) : data);
  const err = isLog ? printLog : printMessage;
  return {
    ...given,
    // They change with the width of the window.
    get outColumns() {
      return given.outColumns;
    },
    get errColumns() {
      return given.errColumns;
    },
    out,
    outWithBackpressure(data) {
      out(data);
      return given.outFlushed();
    },
    err,
    note: isQuiet ? () => {} : printMessage,
    warn: (sentence) => err(`plant-store: ${sentence}\n`),
    printJson: (value) => out(`${formatJson(value, 2)}\n`),
    showLine,
    ifInterrupted(report) {
      reportInterrupted = report;
    },
    reportInterrupted: () => reportInterrupted(),
  };
}

function escapeUnkept(text: string, invisibleOrKept: RegExp): string {
  return text.replaceAll(invisibleOrKept, (match, kept?: string) => kept ?? escapeCharacter(match));
}

function escapeCharacter(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

/** A text that someone sent, on one line. If it is empty or has spaces at an end, it is between quotation marks. */
export function visibleText(text: string): string {
  const escaped = escapeInvisible(text);
  return escaped === escaped.trim() && escaped !== "" ? escaped : `"${escaped}"`;
}

/** The text in at most that many columns. If it is longer, it ends with an ellipsis; no character is split. */
export function cutToColumns(text: string, columnsMax: number): string {
  const cut = Bun.sliceAnsi(text, 0, columnsMax, "…");
  // Where a character of two columns would be split, Bun keeps it whole.
  return columnsOf(cut) <= columnsMax ? cut : Bun.sliceAnsi(text, 0, columnsMax - 1, "…");
}

/** How many columns of a terminal the text fills: a Chinese character fills two, an accent none. */
export function columnsOf(text: string): number {
  return Bun.stringWidth(text);
}

/** Aligns the cells of the rows in columns, by what a terminal shows. A last cell that is too long continues below itself. */
export function formatColumns(
  rows: readonly (readonly string[])[],
  indent = "",
  columnsMax = Number.POSITIVE_INFINITY,
): string {
  const widths = (rows[0] ?? []).map((_, index) =>
    rows.reduce((widest, row) => Math.max(widest, columnsOf(row[index] ?? "")), 0),
  );
  const pad = (cell: string, width = 0) => cell + " ".repeat(Math.max(0, width - columnsOf(cell)));
  const lines = rows.flatMap((row) => {
    const cells = row.slice(0, -1).map((cell, index) => `${pad(cell, widths[index])}  `);
    const start = indent + cells.join("");
    const room = Math.max(lastColumnsMin, columnsMax - columnsOf(start));
    const [first = "", ...others] = wrapped(row.at(-1) ?? "", room);
    return [start + first, ...others.map((line) => pad("", columnsOf(start)) + line)];
  });
  return lines.map((line) => line.trimEnd()).join("\n");
}

/** The lines of a text that is broken between words; a word that is too long has a line of its own. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && columnsOf(longer) > columns) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

/** Text whose lines are broken between words, but for an indented one: it is a command to copy, or part of a list. */
function wrappedLines(text: string, columns: number): string {
  return text
    .split("\n")
    .flatMap((line) => (line.startsWith(" ") ? line : wrapped(line, columns)))
    .join("\n");
}
