import type { LostWal } from "../storage/sqlite/data-file/data-file-problem.ts";
import { type Terminal, warn } from "./terminal.ts";

/** Warns of a lost WAL, for a command that reads what is there nevertheless. */
export function lostWalWarning(terminal: Terminal): (problem: LostWal) => void {
  return ({ sentence }) => warn(terminal, `${sentence} \`plant-store doctor\` says what to do.`);
}
