import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isDatabaseUrl } from "../config/database.ts";

/** The note for a command that is about to create a data file, where nobody may expect one; empty if it will not. */
export function noteOfNewFile(database: string): string {
  if (isDatabaseUrl(database) || existsSync(database)) return "";
  return `Created the data file ${resolve(database)}.\n`;
}
