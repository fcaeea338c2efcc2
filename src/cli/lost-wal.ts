import type { LostWal } from "../storage/sqlite/data-file/data-file-problem.ts";
import { escapeInvisible, type Terminal, warn } from "./terminal.ts";

/** The message about a lost WAL, with a line for each case. */
export function formatLostWal({ sentence, cases }: LostWal): string {
  const lines = [`${sentence} No file was changed.`, ...cases];
  return `plant-store: ${lines.map((line) => escapeInvisible(line)).join("\n  ")}\n`;
}

/** Warns of a lost WAL, for a command that reads what is there nevertheless. */
export function lostWalWarning(terminal: Terminal): (problem: LostWal) => void {
  return ({ sentence }) => warn(terminal, `${sentence} \`plant-store doctor\` says what to do.`);
}
